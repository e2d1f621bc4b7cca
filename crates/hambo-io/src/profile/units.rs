//! Units, as far as names of columns tell them.

/// What the last parts of a name stand for.
const UNITS: [(&str, &str); 34] = [
    ("w_m2", "W/m²"),
    ("kwh_m2", "kWh/m²"),
    ("m3_h", "m³/h"),
    ("m3h", "m³/h"),
    ("l_min", "l/min"),
    ("eur_kwh", "EUR/kWh"),
    ("usd_kwh", "USD/kWh"),
    ("degc", "°C"),
    ("celsius", "°C"),
    ("c", "°C"),
    ("degf", "°F"),
    ("fahrenheit", "°F"),
    ("kelvin", "K"),
    ("kw", "kW"),
    ("kwh", "kWh"),
    ("mw", "MW"),
    ("w", "W"),
    ("pct", "%"),
    ("percent", "%"),
    ("kpa", "kPa"),
    ("bar", "bar"),
    ("pa", "Pa"),
    ("eur", "EUR"),
    ("usd", "USD"),
    ("gbp", "GBP"),
    ("pcs", "pieces"),
    ("rpm", "rpm"),
    ("kg", "kg"),
    ("deg", "°"),
    ("rad", "rad"),
    ("hz", "Hz"),
    ("ppm", "ppm"),
    ("m", "m"),
    ("s", "s"),
];

/// Text in brackets, or the end of the name if it is a unit.
pub(super) fn of_name(name: &str) -> Option<String> {
    let bracketed = name.rsplit_once(['[', '(']).and_then(|(_, rest)| rest.split_once([']', ')']));
    if let Some((unit, _)) = bracketed.filter(|(unit, _)| !unit.is_empty()) {
        return Some(unit.to_owned());
    }
    let name = name.to_ascii_lowercase();
    let is_end = |ending: &str| name.strip_suffix(ending).is_some_and(|rest| rest.ends_with('_'));
    UNITS.iter().find(|(ending, _)| is_end(ending)).map(|(_, unit)| (*unit).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_stand_at_the_end_of_names() {
        let of = |name: &str| of_name(name).unwrap_or_default();
        let names =
            ["room_temp_C", "solar_W_m2", "T room [degC]", "flow_m3h", "heater_kW", "speed"];
        assert_eq!(names.map(of), ["°C", "W/m²", "degC", "m³/h", "kW", ""]);
    }
}
