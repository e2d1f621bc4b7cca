#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hambo_io_fuzz::read_as(b"\x89HDF\r\n\x1a\n", bytes));
