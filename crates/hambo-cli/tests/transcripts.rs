//! What the command prints and how it ends, for help, verdicts and mistakes.

#[test]
fn the_command_says_and_does_what_the_transcripts_show() {
    trycmd::TestCases::new().case("tests/cmd/*.md").env("NO_COLOR", "1");
}
