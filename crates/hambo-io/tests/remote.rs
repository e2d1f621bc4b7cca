//! Object stores, by real servers on this machine: `just remote`. Other builds say that they cannot.

use hambo_io::read::{self, Mapping};

#[cfg(not(feature = "remote"))]
#[test]
fn a_build_without_object_stores_says_so() {
    for address in ["s3://bucket/logs.parquet", "http://localhost:1/logs.csv"] {
        let message = read::open(address, &Mapping::default()).expect_err("no support").to_string();
        assert!(message.contains(address) && message.contains("feature `remote`"), "{message}");
    }
}

#[cfg(feature = "remote")]
mod with_servers {
    use std::net::{TcpListener, TcpStream};
    use std::path::{Path, PathBuf};
    use std::process::{Child, Command, Stdio};
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;
    use hambo_io::{inspect, store};

    fn datasets() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/datasets")
    }

    fn discrete() -> Mapping {
        Mapping { discrete_actions: Some(read::DiscreteActions::Single(5)), ..Mapping::default() }
    }

    /// A server that ends with the test.
    struct Server {
        process: Child,
        port: u16,
    }

    impl Server {
        /// Starts `python3 -m …`, whose last argument becomes a free port.
        fn start(arguments: &[&str]) -> Self {
            let port = TcpListener::bind("127.0.0.1:0")
                .and_then(|listener| listener.local_addr())
                .expect("a free port")
                .port();
            let process = Command::new("python3")
                .arg("-m")
                .args(arguments)
                .arg(port.to_string())
                .current_dir(datasets())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("python3 runs");
            let server = Self { process, port };
            for _ in 0..300 {
                if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                    return server;
                }
                sleep(Duration::from_millis(100));
            }
            panic!("{arguments:?} does not answer");
        }
    }

    impl Drop for Server {
        fn drop(&mut self) {
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }

    fn assert_same_as_local(address: &str, local: &str) {
        let here =
            read::open(datasets().join(local), &discrete()).expect("the local file is sound");
        let there = read::open(address, &discrete()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(there.dataset.identity(), here.dataset.identity(), "{address}");
    }

    #[test]
    fn files_of_a_web_server_are_read_as_local_ones() {
        let server = Server::start(&["http.server", "--bind", "127.0.0.1"]);
        let root = format!("http://127.0.0.1:{}", server.port);
        for file in ["0/parquet_wide.parquet", "0/csv.csv", "0/d4rl.hdf5", "0/npz.npz"] {
            assert_same_as_local(&format!("{root}/{file}"), file);
        }
        let message =
            read::open(format!("{root}/0/none.csv"), &discrete()).expect_err("none").to_string();
        assert!(message.contains("0/none.csv cannot be fetched"), "{message}");
        // The content is wrong, and the message says where it came from.
        let page =
            read::open(format!("{root}/0/"), &discrete()).expect_err("a listing").to_string();
        assert!(page.contains(&root), "{page}");
    }

    #[test]
    fn objects_folders_and_patterns_of_a_bucket_are_read_as_local_ones() {
        let server = Server::start(&["moto.server", "-H", "127.0.0.1", "-p"]);
        let endpoint = format!("http://127.0.0.1:{}", server.port);
        let upload = "import os, pathlib, sys, boto3\n\
            s3 = boto3.client('s3', endpoint_url=sys.argv[1])\n\
            s3.create_bucket(Bucket='logs')\n\
            for file in pathlib.Path('.').rglob('*'):\n    \
                if file.is_file(): s3.upload_file(str(file), 'logs', 'some/' + str(file))\n";
        let settings = [
            ("AWS_ACCESS_KEY_ID", "test"),
            ("AWS_SECRET_ACCESS_KEY", "test"),
            ("AWS_DEFAULT_REGION", "us-east-1"),
            ("AWS_ENDPOINT", &endpoint),
            ("AWS_ALLOW_HTTP", "true"),
        ];
        let uploaded = Command::new("python3")
            .args(["-c", upload, &endpoint])
            .current_dir(datasets())
            .envs(settings)
            .status()
            .expect("python3 runs");
        assert!(uploaded.success(), "the files could not be uploaded");
        // Settings come from the environment of the process, so another one reads.
        let test = std::env::current_exe().expect("this program");
        let read = Command::new(test)
            .args(["--ignored", "--exact", "remote::with_servers::read_a_bucket"])
            .envs(settings)
            .output()
            .expect("this program runs");
        let said = String::from_utf8_lossy(&read.stdout);
        // A name that no test has is no failure to it.
        assert!(read.status.success() && said.contains("1 passed"), "{said}");
    }

    /// Run by the test above.
    #[test]
    #[ignore = "needs the bucket that another test makes"]
    fn read_a_bucket() {
        for (address, local) in [
            ("0/parquet_wide.parquet", "0/parquet_wide.parquet"),
            ("0/parquet_dir", "0/parquet_dir"),
            ("0/parquet_dir/*.parquet", "0/parquet_dir"),
            ("0/minari_hdf5/random/ds-v0", "0/minari_hdf5/random/ds-v0"),
            ("0/minari_arrow/random/ds-v0", "0/minari_arrow/random/ds-v0"),
        ] {
            assert_same_as_local(&format!("s3://logs/some/{address}"), local);
        }
        let address = "s3://logs/some/0/csv.csv";
        let found = inspect::inspect(address, &discrete()).expect("it can be read");
        assert!(found.rows > 0 && found.problems.rows == 0);
        let folder = tempfile::tempdir().expect("a directory");
        let into = folder.path().join("store");
        let converted = store::convert(address, &discrete(), &into).expect("it can be converted");
        let direct = read::open(address, &discrete()).expect("it can be read").dataset;
        assert_eq!(converted.data, direct.identity());
        let missing =
            read::open("s3://logs/some/nothing", &discrete()).expect_err("none").to_string();
        assert!(missing.contains("no such object"), "{missing}");
    }
}
