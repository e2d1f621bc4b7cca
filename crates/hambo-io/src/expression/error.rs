//! Why a text is not an expression.

/// Longest text of an expression.
pub const MAX_CHARACTERS: usize = 2000;

/// Most parentheses within one another, so that no text can overflow the stack.
pub const MAX_NESTING: usize = 32;

/// Why a text is not an expression over a dataset's columns.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExpressionError {
    /// The text is too long.
    #[error(
        "the expression has {found} characters, more than the limit of {MAX_CHARACTERS}; \
         give a longer one as an ONNX file"
    )]
    TooLong {
        /// Its characters.
        found: usize,
    },

    /// Too many parentheses lie within one another.
    #[error(
        "the expression has {found} parentheses within one another, more than the limit of \
         {MAX_NESTING}; remove those that are not needed"
    )]
    TooDeep {
        /// How many do.
        found: usize,
    },

    /// The text does not follow the grammar.
    #[error("cannot understand the expression at character {position}; {expected}\n{marked}")]
    Syntax {
        /// Counts from one.
        position: usize,
        /// What could stand there instead.
        expected: String,
        /// The text, and below it a mark at the position.
        marked: String,
    },

    /// A name is that of no column.
    #[error(
        "`{text}`: there is no column `{name}`{}; the columns are {}",
        suggest(nearest),
        list(known)
    )]
    UnknownName {
        /// The expression.
        text: String,
        /// The name.
        name: String,
        /// The known name most like it.
        nearest: Option<String>,
        /// The names that are known.
        known: Vec<String>,
    },

    /// A name may mean a column of the state, or the next value of another.
    #[error(
        "`{text}`: `{name}` may be a column of the state or the next value of another; \
         rename one of the columns"
    )]
    Ambiguous {
        /// The expression.
        text: String,
        /// The name.
        name: String,
    },

    /// A function does not exist.
    #[error(
        "`{text}`: there is no function `{name}`{}; the functions are {}",
        suggest(nearest),
        list(known)
    )]
    UnknownFunction {
        /// The expression.
        text: String,
        /// The name.
        name: String,
        /// The known name most like it.
        nearest: Option<String>,
        /// The names that are known.
        known: Vec<String>,
    },

    /// A function has too many or too few arguments.
    #[error("`{text}`: `{function}` takes {expected}, got {found}")]
    Arguments {
        /// The expression.
        text: String,
        /// The function.
        function: String,
        /// What it takes, in words.
        expected: &'static str,
        /// Arguments that it was given.
        found: usize,
    },
}

fn suggest(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!(", did you mean `{name}`?")).unwrap_or_default()
}

fn list(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
