//! Logs as plants export them: times, text, gaps, spikes, other countries' numbers.

use std::fmt::Write;
use std::path::PathBuf;

use hambo::Dataset;
use hambo_io::inspect::inspect;
use hambo_io::profile::{Profile, profile};
use hambo_io::read::{self, Cut, Mapping, Missing, Note, Opened};
use tempfile::TempDir;

/// A heated room: `days` days of two buildings, every three hours.
struct Plant {
    days: usize,
    separator: char,
    decimal: char,
}

impl Default for Plant {
    fn default() -> Self {
        Self { days: 28, separator: ',', decimal: '.' }
    }
}

const STEPS: usize = 8;
const HEADER: [&str; 6] =
    ["timestamp", "building", "room_temp_C", "outdoor_temp_C", "heater_kW", "cost_eur"];

impl Plant {
    /// Cells of all rows, building after building.
    fn rows(&self) -> Vec<[String; 6]> {
        let mut rows = Vec::new();
        for (number, building) in ["A", "B"].into_iter().enumerate() {
            for step in 0..self.days * STEPS {
                let (day, hour) = (step / STEPS, 3 * (step % STEPS));
                let date = format!("2025-{:02}-{:02}", 1 + day / 28, 1 + day % 28);
                let wave = (step as f64 * 0.7 + number as f64).sin();
                let number =
                    |value: f64| format!("{value:.3}").replace('.', &self.decimal.to_string());
                rows.push([
                    format!("{date} {hour:02}:00:00"),
                    building.into(),
                    number(20.0 + wave),
                    number(3.0 - 2.0 * wave),
                    number(2.0 + 0.5 * wave),
                    number(1.0 + 0.1 * wave),
                ]);
            }
        }
        rows
    }

    fn file(&self, rows: &[[String; 6]]) -> (TempDir, PathBuf) {
        let separator = self.separator.to_string();
        let mut text = HEADER.join(&separator) + "\n";
        rows.iter().for_each(|row| writeln!(text, "{}", row.join(&separator)).unwrap());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logs.csv");
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    fn open(&self, rows: &[[String; 6]]) -> Opened {
        let (_folder, path) = self.file(rows);
        read::open(path, &mapping()).unwrap_or_else(|error| panic!("{error}"))
    }

    fn profile(&self, rows: &[[String; 6]]) -> Profile {
        let (_folder, path) = self.file(rows);
        profile(path).unwrap().expect("it is a table")
    }
}

fn mapping() -> Mapping {
    let text = |name: &str| name.to_owned();
    Mapping {
        state: vec![text("room_temp_C")],
        exogenous: vec![text("outdoor_temp_C"), text("building")],
        action: vec![text("heater_kW")],
        reward: Some(text("-cost_eur")),
        episode: vec![text("building")],
        step: Some(text("timestamp")),
        cut: Some(Cut::Day),
        ..Mapping::default()
    }
}

fn open_with(mapping: &Mapping, rows: &[[String; 6]]) -> Result<Dataset, String> {
    let plant = Plant::default();
    let (_folder, path) = plant.file(rows);
    read::open(path, mapping).map(|opened| opened.dataset).map_err(|error| error.to_string())
}

fn first_column(data: &Dataset) -> Vec<f32> {
    data.initial_states().column(0).to_vec()
}

#[test]
fn days_of_buildings_become_episodes_that_know_where_they_led() {
    let plant = Plant::default();
    let Opened { dataset, notes, .. } = plant.open(&plant.rows());
    assert_eq!(dataset.episodes().len(), 56);
    // Only the last row of each building has nothing after it.
    assert_eq!(dataset.rows(), 2 * 28 * STEPS - 2);
    let names = dataset.names_or_numbers();
    assert_eq!(names.states, ["room_temp_C", "outdoor_temp_C", "building=A", "building=B"]);
    assert_eq!(dataset.exogenous(), [1, 2, 3]);
    assert_eq!(dataset.states().row(0).to_vec()[2..], [1.0, 0.0]);
    assert_eq!(dataset.states().row(dataset.rows() - 1).to_vec()[2..], [0.0, 1.0]);
    // A cost is negated.
    assert_eq!(dataset.rewards()[0], -1.0);
    assert!(notes.contains(&Note::LastRowsDropped { rows: 2, terminations: 0 }), "{notes:?}");
}

#[test]
fn a_missing_value_is_a_gap_and_nobody_starts_after_it() {
    let plant = Plant::default();
    let (mut rows, whole) = (plant.rows(), plant.open(&plant.rows()).dataset);
    // In the middle of the first day, at the start of the second, which the first one led to, and a reward of
    // the third.
    for (row, column, text) in [(3, 2, ""), (STEPS, 2, "NaN"), (2 * STEPS + 4, 5, "n/a")] {
        rows[row][column] = text.into();
    }
    let Opened { dataset, notes, .. } = plant.open(&rows);
    // A state is missing from two transitions, a reward from one.
    assert_eq!(dataset.rows(), whole.rows() - 5);
    assert_eq!(dataset.episodes().len(), 56);
    let pieces = |episode: usize| {
        let span = &dataset.episodes()[episode];
        span.pieces().map(|rows| rows.len()).collect::<Vec<_>>()
    };
    assert_eq!([pieces(0), pieces(1), pieces(2)], [vec![2, 3], vec![7], vec![4, 3]]);
    assert!(!dataset.episodes()[1].shows_start() && dataset.episodes()[2].shows_start());
    // The second day's first state is not where a day starts.
    let mut starts = first_column(&whole);
    starts.remove(1);
    assert_eq!(first_column(&dataset), starts);
    let columns = vec![("room_temp_C".to_owned(), 2), ("reward".to_owned(), 1)];
    assert_eq!(notes[0], Note::MissingValues { rows: 3, columns });

    let refused = Mapping { missing: Missing::Refuse, ..mapping() };
    let message = open_with(&refused, &rows).unwrap_err();
    // The header is line 1 of the file.
    assert!(message.contains("row 5, column `room_temp_C`: the value is missing"), "{message}");
}

#[test]
fn rows_that_were_dropped_are_never_joined() {
    let plant = Plant::default();
    let mut rows = plant.rows();
    rows.remove(11);
    let Opened { dataset, notes, .. } = plant.open(&rows);
    assert_eq!(dataset.rows(), 2 * 28 * STEPS - 4);
    assert_eq!(dataset.episodes()[1].gaps.len(), 1);
    assert!(notes.contains(&Note::MissingSteps { places: 1 }), "{notes:?}");
    let refused = Mapping { missing: Missing::Refuse, ..mapping() };
    let message = open_with(&refused, &rows).unwrap_err();
    assert!(message.contains("2025-01-02 12:00:00 follows step 2025-01-02 06:00:00"), "{message}");
}

#[test]
fn rows_in_any_order_are_the_same_log() {
    let plant = Plant::default();
    let rows = plant.rows();
    let expected = plant.open(&rows).dataset;
    // All buildings at one time after the other, as most systems export them; and as if shuffled.
    let mut by_time = rows.clone();
    by_time.sort_by(|a, b| a[0].cmp(&b[0]));
    let shuffled: Vec<_> = (0..rows.len()).map(|i| rows[(i * 5) % rows.len()].clone()).collect();
    for other in [by_time, shuffled] {
        let Opened { dataset, notes, .. } = plant.open(&other);
        assert_eq!(dataset.identity().fingerprint, expected.identity().fingerprint);
        assert_eq!(notes[0], Note::Sorted);
        assert!(plant.profile(&other).remarks.iter().any(|r| r.contains("not in the order")));
    }
}

#[test]
fn times_that_come_twice_ask_for_the_column_that_tells_rows_apart() {
    let message =
        open_with(&Mapping { episode: Vec::new(), ..mapping() }, &Plant::default().rows());
    let message = message.unwrap_err();
    assert!(message.contains("tells them apart as `episode`"), "{message}");
}

#[test]
fn semicolons_and_decimal_commas_are_understood() {
    let (plain, other) =
        (Plant::default(), Plant { separator: ';', decimal: ',', ..Plant::default() });
    let (expected, found) = (plain.open(&plain.rows()), other.open(&other.rows()));
    assert_eq!(found.dataset.identity(), expected.dataset.identity());
    let writing = other.profile(&other.rows()).writing.unwrap();
    assert_eq!(writing, "values are separated by semicolons, numbers have decimal commas");
}

#[test]
fn a_spike_is_taken_for_a_missing_value_and_what_lasts_is_not() {
    let plant = Plant::default();
    let (mut rows, whole) = (plant.rows(), plant.open(&plant.rows()).dataset);
    rows[50][2] = "850".into();
    let Opened { dataset, notes, .. } = plant.open(&rows);
    assert_eq!(dataset.rows(), whole.rows() - 2);
    assert!(dataset.states().column(0).iter().all(|&room| room < 22.0));
    let Some(Note::Spikes(spikes)) = notes.last() else { panic!("{notes:?}") };
    assert_eq!((&*spikes.column, spikes.count, spikes.worst), ("room_temp_C", 1, 850.0));
    assert!(plant.profile(&rows).remarks[0].starts_with("room_temp_C: 1 of its values"));

    // What lasts is no spike; neither is one that the reward has felt.
    rows[51][2] = "849".into();
    let Opened { dataset, notes, .. } = plant.open(&rows);
    assert_eq!(dataset.rows(), whole.rows());
    assert!(matches!(notes.last(), Some(Note::Spikes(spikes)) if spikes.kept), "{notes:?}");
    rows[51][2] = plant.rows()[51][2].clone();
    rows[50][5] = "99".into();
    let kept = plant.open(&rows).dataset;
    assert_eq!(kept.rows(), whole.rows());
    // It is there, but it does not stretch the limits of the states.
    let range = hambo::StateBounds::of_data(&kept);
    assert!(range.high()[0] < 22.0, "{range:?}");
}

#[test]
fn a_number_that_stands_for_what_is_missing_is_no_value() {
    let plant = Plant::default();
    let mut rows = plant.rows();
    // Also at midnight, where the day before has led to, and twice in a row.
    for row in [30, 31, 64, 100, 200, 300] {
        rows[row][2] = "-999".into();
    }
    let Opened { dataset, notes, .. } = plant.open(&rows);
    let mut empty = plant.rows();
    for row in [30, 31, 64, 100, 200, 300] {
        empty[row][2] = String::new();
    }
    assert_eq!(dataset.identity().fingerprint, plant.open(&empty).dataset.identity().fingerprint);
    let Some(Note::Spikes(spikes)) = notes.last() else { panic!("{notes:?}") };
    assert_eq!((spikes.count, spikes.worst, spikes.kept), (6, -999.0, false));
    let (_folder, path) = plant.file(&rows);
    assert_eq!(inspect(path, &mapping()).unwrap().rows, dataset.rows());
}

#[test]
fn such_a_number_is_no_action_and_no_good_reward_either() {
    let plant = Plant::default();
    let whole = plant.open(&plant.rows()).dataset;
    let marked = |column: usize, value: &str| {
        let mut rows = plant.rows();
        for row in [30, 31, 100, 200, 300] {
            rows[row][column] = value.into();
        }
        plant.open(&rows)
    };
    let highest = |data: &Dataset| data.rewards().iter().copied().fold(f32::MIN, f32::max);
    for (column, name) in [(4, "heater_kW"), (5, "the reward")] {
        let Opened { dataset, notes, .. } = marked(column, "-999");
        let Some(Note::Spikes(spikes)) = notes.last() else { panic!("{notes:?}") };
        assert_eq!((&*spikes.column, spikes.count, spikes.kept), (name, 5, false));
        assert_eq!(dataset.rows(), whole.rows() - 5);
        assert!(dataset.actions().iter().all(|&action| action > 0.0));
        assert!(highest(&dataset) <= highest(&whole), "a cost of -999 is no gain");
    }
    // A rare loss may be real: it stays, and is named.
    let Opened { dataset, notes, .. } = marked(5, "999");
    assert_eq!(dataset.rows(), whole.rows());
    assert!(matches!(notes.last(), Some(Note::Spikes(spikes)) if spikes.kept), "{notes:?}");
}

#[test]
fn american_times_are_read_and_doubtful_ones_are_named() {
    let plant = Plant::default();
    let expected = plant.open(&plant.rows()).dataset;
    let with_times = |format: &dyn Fn(&str, &str, u32) -> String| {
        let mut rows = plant.rows();
        for row in &mut rows {
            let (day, hour): (String, u32) =
                (row[0][8..10].into(), row[0][11..13].parse().unwrap());
            row[0] = format(&row[0][5..7], &day, hour);
        }
        rows
    };
    let american = with_times(&|month, day, hour| {
        let half = if hour < 12 { "AM" } else { "PM" };
        format!("{month}/{day}/2025 {:02}:00 {half}", if hour % 12 == 0 { 12 } else { hour % 12 })
    });
    assert_eq!(plant.open(&american).dataset.identity(), expected.identity());
    let doubtful = with_times(&|month, day, hour| format!("{day}/{month}/2025 {hour:02}:00"));
    let found = plant.profile(&doubtful);
    assert!(found.remarks[0].contains("seems to hold times"), "{:?}", found.remarks);
    assert!(!found.proposal.is_complete(), "rows that are apart could be joined");
}

#[test]
fn text_names_episodes_only_where_it_can() {
    let plant = Plant::default();
    // One name per day, under a name that says so, and no times.
    let mut lines = vec!["episode,room_temp_C,heater_kW,cost_eur".to_owned()];
    for row in plant.rows() {
        lines.push(format!("{}-{},{},{},{}", row[1], &row[0][..10], row[2], row[4], row[5]));
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("logs.csv"), lines.join("\n")).unwrap();
    std::fs::write(folder.path().join("README.txt"), "exported on Monday\n").unwrap();
    let found = profile(folder.path()).unwrap().unwrap();
    assert_eq!(found.proposal.mapping.episode, ["episode"]);
    let data = read::open(folder.path(), &found.proposal.mapping).unwrap().dataset;
    assert_eq!(data.episodes().len(), 56);

    // Remarks of an operator tell no rows apart.
    let mut rows = plant.rows();
    for (index, row) in rows.iter_mut().enumerate() {
        row[1] = if index == 7 { "filter changed".into() } else { String::new() };
    }
    assert!(plant.profile(&rows).proposal.mapping.episode.is_empty());
    // Nor do they if they are always one of two.
    let mut rows = plant.rows();
    let (mut lines, header) = (Vec::new(), format!("{},remark", HEADER.join(",")));
    for (index, row) in rows.iter_mut().enumerate() {
        let remark = if index % 37 == 5 { "door open" } else { "ok" };
        lines.push(format!("{},{remark}", row.join(",")));
    }
    let path = folder.path().join("remarks.csv");
    std::fs::write(&path, format!("{header}\n{}\n", lines.join("\n"))).unwrap();
    let found = profile(&path).unwrap().unwrap();
    assert_eq!(found.proposal.mapping.episode, ["building"]);
    assert_eq!(found.remarks, Vec::<String>::new());
}

#[test]
fn a_plain_log_raises_no_false_alarm() {
    let plant = Plant::default();
    let rows = plant.rows();
    assert_eq!(plant.profile(&rows).remarks, Vec::<String>::new());
    let (_folder, path) = plant.file(&rows);
    let found = inspect(path, &mapping()).unwrap();
    // Actions are kilowatts, far beyond [-1, 1].
    assert!(found.mistakes.is_empty(), "{:?}", found.mistakes);
    assert_eq!((found.problems.rows, found.problems.episodes), (0, 0), "{:?}", found.problems);
}

#[test]
fn rows_that_come_twice_are_counted_once_and_others_are_named_by_their_line() {
    let plant = Plant::default();
    let expected = plant.open(&plant.rows()).dataset.identity();
    // Beside each other, and all of a day at the end of the file.
    let mut rows = plant.rows();
    let again = rows[..STEPS].to_vec();
    rows.insert(45, rows[44].clone());
    let Opened { dataset, notes, .. } = plant.open(&rows);
    assert_eq!(dataset.identity(), expected);
    assert!(notes.contains(&Note::Repeated { rows: 1 }), "{notes:?}");
    let mut rows = plant.rows();
    rows.extend(again);
    let Opened { dataset, notes, .. } = plant.open(&rows);
    assert_eq!(dataset.identity(), expected);
    assert!(notes.contains(&Note::Repeated { rows: STEPS as u64 }), "{notes:?}");
    // The same time with other values: nobody knows which is right. The header is line 1.
    rows[448][2] = "25".into();
    let (_folder, path) = plant.file(&rows);
    let message = read::open(path, &mapping()).unwrap_err().to_string();
    assert!(message.contains("row 450:"), "{message}");
}

#[test]
fn a_header_without_rows_is_named() {
    let profile = Plant::default().profile(&[]);
    assert_eq!(profile.remarks, ["it has a header and no rows"]);
    let (_folder, path) = Plant::default().file(&[]);
    let messages = [
        inspect(&path, &mapping()).unwrap_err().to_string(),
        read::open(path, &mapping()).unwrap_err().to_string(),
    ];
    assert!(messages.iter().all(|m| m.contains("was its export cut short?")), "{messages:?}");
}

#[test]
fn a_building_in_fahrenheit_is_noticed() {
    let plant = Plant::default();
    let mut rows = plant.rows();
    for row in rows.iter_mut().filter(|row| row[1] == "B") {
        let celsius: f64 = row[2].parse().unwrap();
        row[2] = (celsius * 1.8 + 32.0).to_string();
    }
    let remarks = plant.profile(&rows).remarks;
    assert!(
        remarks[0].contains("room_temp_C lies between") && remarks[0].contains("°F"),
        "{remarks:?}"
    );
    assert!(plant.profile(&plant.rows()).remarks.is_empty());
}

#[test]
fn what_the_columns_are_for_is_proposed() {
    let found = Plant::default().profile(&Plant::default().rows());
    let expected = Mapping { source: Some("building".into()), ..mapping() };
    assert_eq!(found.proposal.mapping, expected);
    assert_eq!(found.proposal.horizon, Some(STEPS));
    let times = found.times.unwrap();
    assert_eq!((&*times.period, &*times.from), ("3 h", "2025-01-01 00:00:00"));
    let units: Vec<_> = found.columns.iter().filter_map(|column| column.unit.clone()).collect();
    assert_eq!(units, ["°C", "°C", "kW", "EUR"]);
}

#[test]
fn a_formula_may_look_at_the_next_row() {
    let rule = "-0.4*max(0, 20 - next_room_temp_C)^2 - cost_eur";
    let rows = Plant::default().rows();
    let data = open_with(&Mapping { reward: Some(rule.into()), ..mapping() }, &rows).unwrap();
    let number = |row: usize, column: usize| rows[row][column].parse::<f32>().unwrap();
    for row in 0..10 {
        let expected = -0.4 * (20.0 - number(row + 1, 2)).max(0.0).powi(2) - number(row, 5);
        assert!((data.rewards()[row] - expected).abs() < 1e-5, "row {row}");
    }
    let otherwise = Mapping { reward: None, reward_otherwise: Some(rule.into()), ..mapping() };
    assert_eq!(open_with(&otherwise, &rows).unwrap().rewards(), data.rewards());
    let wrong = Mapping { reward: Some("-price_eur".into()), ..mapping() };
    let message = open_with(&wrong, &rows).unwrap_err();
    assert!(message.contains("`data.reward`") && message.contains("price_eur"), "{message}");
}

#[test]
fn a_folder_is_one_log_with_the_words_of_all_files() {
    let plant = Plant::default();
    let rows = plant.rows();
    let (half, other) = rows.split_at(rows.len() / 2);
    let (folder, path) = plant.file(half);
    let mut text = HEADER.join(",") + "\n";
    other.iter().for_each(|row| writeln!(text, "{}", row.join(",")).unwrap());
    std::fs::write(path.with_file_name("more.csv"), text).unwrap();
    let found = read::open(folder.path(), &mapping()).unwrap().dataset;
    assert_eq!(found.identity(), plant.open(&rows).dataset.identity());
}

#[test]
fn columns_that_say_what_they_are_for_are_not_taken_for_states() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("logs.csv");
    let mut text =
        "episode,step,x,v,push,reward,next_x,v_next,terminated,truncated,done\n".to_owned();
    for row in 0..60 {
        let (episode, step) = (row / 20, row % 20);
        let (x, next, ends) = (f64::from(row).sin(), f64::from(row + 1).sin(), step == 19);
        let push = row % 2;
        writeln!(text, "{episode},{step},{x},{},{push},1,{next},{},False,{ends},{ends}", -x, -next)
            .unwrap();
    }
    std::fs::write(&path, text).unwrap();
    let proposal = profile(&path).unwrap().unwrap().proposal;
    let mapping = &proposal.mapping;
    assert_eq!(mapping.state, ["x", "v"]);
    assert_eq!(mapping.next_state, ["next_x", "v_next"]);
    assert_eq!(mapping.action, ["push"]);
    assert_eq!(mapping.step.as_deref(), Some("step"));
    assert_eq!(mapping.terminated.as_deref(), Some("terminated"));
    assert_eq!(mapping.truncated.as_deref(), Some("truncated"));
    assert_eq!(proposal.unused, ["done"]);
    assert!(proposal.is_complete());
    let read = read::open(&path, mapping).unwrap();
    assert_eq!(read.dataset.rows(), 60);
}
