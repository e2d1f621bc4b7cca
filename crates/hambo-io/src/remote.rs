//! Data in object stores (`s3://`, `gs://`, `az://`, `http://`, …), behind the feature `remote`.
//!
//! Objects are copied to a temporary directory and read from there: the readers need files that they can
//! seek in, and a log is read from one end to the other anyway.

use std::path::Path;

use crate::error::{Error, Result};

/// Runs `read` on `source`, or on a copy of it if it is in an object store.
pub(crate) fn locally<T>(source: &Path, read: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
    let Some(url) = source.to_str().filter(|text| is_url(text)) else { return read(source) };
    #[cfg(not(feature = "remote"))]
    return Err(Error::NoRemote { url: url.to_owned() });
    #[cfg(feature = "remote")]
    {
        let folder = tempfile::tempdir()
            .map_err(Error::io(&std::env::temp_dir(), "make a temporary directory"))?;
        let copy = fetch::fetch(url, folder.path())?;
        read(&copy).map_err(|error| Error::Remote { url: url.to_owned(), source: Box::new(error) })
    }
}

/// Whether it starts with a scheme. A drive such as `C:\logs` does not.
fn is_url(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| {
        scheme.len() > 1 && scheme.chars().all(|letter| letter.is_ascii_alphanumeric())
    })
}

#[cfg(feature = "remote")]
mod fetch {
    use std::fs::{File, create_dir_all};
    use std::io::Write;
    use std::path::{Path, PathBuf};

    use futures_util::TryStreamExt;
    use object_store::path::Path as Key;
    use object_store::{GetResult, ObjectStore, ObjectStoreExt};
    use url::Url;

    use crate::error::{Error, Result};

    /// Copies what `url` stands for (an object, all objects below it, or those that match a pattern) into
    /// `folder`, and says what to read there.
    pub(crate) fn fetch(url: &str, folder: &Path) -> Result<PathBuf> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Error::io(folder, "prepare to fetch"))?;
        runtime.block_on(copy(url, folder))
    }

    async fn copy(url: &str, folder: &Path) -> Result<PathBuf> {
        let failed = |message: String| Error::NotFetched {
            url: url.to_owned(),
            message: first_line(&message),
        };
        let (base, pattern) = split_pattern(url);
        let parsed = Url::parse(base).map_err(|error| failed(error.to_string()))?;
        if parsed.query().is_some() {
            let message =
                "addresses with a query (`?`) are not understood; download the file first";
            return Err(failed(message.into()));
        }
        let (store, key) = connect(&parsed).map_err(|error| failed(error.to_string()))?;
        if pattern.is_none() {
            match store.get(&key).await {
                Ok(object) => {
                    let name = key.filename().unwrap_or("object");
                    return save(object, &folder.join(name)).await.map_err(|error| error.at(url));
                }
                Err(object_store::Error::NotFound { .. })
                    if parsed.scheme().starts_with("http") =>
                {
                    return Err(failed("there is no such file".into()));
                }
                // Perhaps a directory, which object stores do not have as such.
                Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => return Err(failed(error.to_string())),
            }
        }
        let listed: Vec<_> = store
            .list(Some(&key))
            .try_collect()
            .await
            .map_err(|error| failed(format!("it cannot be listed: {error}")))?;
        let mut found = 0;
        for object in listed {
            let below: PathBuf = object
                .location
                .prefix_match(&key)
                .map(|parts| parts.map(|part| part.as_ref().to_owned()).collect())
                .unwrap_or_default();
            if pattern.as_ref().is_none_or(|pattern| pattern.matches_path(&below)) {
                let object =
                    store.get(&object.location).await.map_err(|error| failed(error.to_string()))?;
                save(object, &folder.join(below)).await.map_err(|error| error.at(url))?;
                found += 1;
            }
        }
        match (found, pattern) {
            (0, _) => Err(failed("there is no such object".into())),
            (_, Some(pattern)) => Ok(folder.join(pattern.as_str())),
            (_, None) => Ok(folder.to_owned()),
        }
    }

    /// The address before the first part with a wildcard, and the rest as a pattern.
    fn split_pattern(url: &str) -> (&str, Option<glob::Pattern>) {
        let wildcard = url.find('*').and_then(|at| url[..at].rfind('/'));
        match wildcard.and_then(|slash| Some((slash, glob::Pattern::new(&url[slash + 1..]).ok()?)))
        {
            Some((slash, pattern)) => (&url[..slash], Some(pattern)),
            None => (url, None),
        }
    }

    /// Credentials and endpoints come from the environment, under the names that the vendors' tools use.
    fn connect(url: &Url) -> object_store::Result<(Box<dyn ObjectStore>, Key)> {
        let environment = std::env::vars().map(|(name, value)| (name.to_ascii_lowercase(), value));
        // Whoever writes `http` means it.
        let unencrypted = (url.scheme() == "http").then(|| ("allow_http".into(), "true".into()));
        object_store::parse_url_opts(url, environment.chain(unencrypted))
    }

    /// Servers answer with whole pages.
    fn first_line(message: &str) -> String {
        message.lines().next().unwrap_or_default().chars().take(300).collect()
    }

    enum Failure {
        Fetch(object_store::Error),
        Write(Error),
    }

    impl Failure {
        fn at(self, url: &str) -> Error {
            match self {
                Self::Fetch(error) => {
                    let message = first_line(&error.to_string());
                    Error::NotFetched { url: url.to_owned(), message }
                }
                Self::Write(error) => error,
            }
        }
    }

    async fn save(object: GetResult, path: &Path) -> Result<PathBuf, Failure> {
        let writing = |error| Failure::Write(Error::io(path, "write the copy")(error));
        if let Some(folder) = path.parent() {
            create_dir_all(folder).map_err(writing)?;
        }
        let mut file = File::create(path).map_err(writing)?;
        let mut pieces = object.into_stream();
        while let Some(piece) = pieces.try_next().await.map_err(Failure::Fetch)? {
            file.write_all(&piece).map_err(writing)?;
        }
        Ok(path.to_owned())
    }
}
