#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hambo_io_fuzz::read_file(bytes));
