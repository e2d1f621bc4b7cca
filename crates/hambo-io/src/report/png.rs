//! Figures as pixels, with the same letters on every machine.
//!
//! The font is Inter (SIL Open Font License 1.1, `assets/Inter-LICENSE.txt`), because a server or a
//! container often has none: two weights, unchanged, from Debian's package `fonts-inter`
//! 4.0~beta7. It has Latin, Greek and Cyrillic letters and all signs that figures use. For the
//! names of users' columns in other scripts the machine's fonts are looked through.

use std::sync::{Arc, OnceLock};

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::{Database, Source};
use resvg::usvg::{FallbackSelectionFn, FontResolver, ImageHrefResolver, ImageKind, Options, Tree};

const REGULAR: &[u8] = include_bytes!("../../assets/Inter-Regular.otf");
const SEMI_BOLD: &[u8] = include_bytes!("../../assets/Inter-SemiBold.otf");
const FAMILY: &str = "Inter";
const EMBEDDED: usize = 2;

/// Pixels per unit of the drawing: sharp on dense screens and on slides.
const SCALE: f32 = 2.0;

/// Pixels of a side at most.
const LARGEST: f32 = 16_384.0;

/// Why a figure could not be turned into pixels.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the figure cannot be drawn as PNG: {0}")]
pub struct DrawingError(String);

/// A figure of [`figures`](super::figures()) as a PNG file, twice as large as it says it is. Images
/// that it refers to are not loaded.
pub fn png(svg: &str) -> Result<Vec<u8>, DrawingError> {
    let tree = parsed(svg, with_the_machines_fonts())?;
    let size = tree.size();
    let (width, height) = ((SCALE * size.width()).ceil(), (SCALE * size.height()).ceil());
    let too_large = || {
        let sides = format!("{width} x {height} pixels are more than {LARGEST} on a side");
        DrawingError(sides)
    };
    if width > LARGEST || height > LARGEST {
        return Err(too_large());
    }
    let mut pixels = Pixmap::new(width as u32, height as u32).ok_or_else(too_large)?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| DrawingError(error.to_string()))
}

fn parsed(svg: &str, fallback: FallbackSelectionFn<'_>) -> Result<Tree, DrawingError> {
    let no_data = |_: &str, _: Arc<Vec<u8>>, _: &Options<'_>| -> Option<ImageKind> { None };
    let no_file = |_: &str, _: &Options<'_>| -> Option<ImageKind> { None };
    let options = Options {
        font_family: FAMILY.into(),
        fontdb: embedded_fonts(),
        font_resolver: FontResolver {
            select_font: FontResolver::default_font_selector(),
            select_fallback: fallback,
        },
        image_href_resolver: ImageHrefResolver {
            resolve_data: Box::new(no_data),
            resolve_string: Box::new(no_file),
        },
        ..Options::default()
    };
    Tree::from_str(svg, &options).map_err(|error| DrawingError(error.to_string()))
}

fn embedded_fonts() -> Arc<Database> {
    static FONTS: OnceLock<Arc<Database>> = OnceLock::new();
    let load = || {
        let mut fonts = Database::new();
        for bytes in [REGULAR, SEMI_BOLD] {
            fonts.load_font_source(Source::Binary(Arc::new(bytes)));
        }
        // A page's other families stand for whatever the reader has.
        fonts.set_sans_serif_family(FAMILY);
        fonts.set_serif_family(FAMILY);
        fonts.set_monospace_family(FAMILY);
        Arc::new(fonts)
    };
    FONTS.get_or_init(load).clone()
}

/// Looks for a letter that the embedded font lacks among the machine's fonts, which are not searched
/// before.
fn with_the_machines_fonts() -> FallbackSelectionFn<'static> {
    let known = FontResolver::default_fallback_selector();
    Box::new(move |letter, used, fonts| {
        if fonts.len() == EMBEDDED {
            Arc::make_mut(fonts).load_system_fonts();
        }
        known(letter, used, fonts)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn with_text(text: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"400\" height=\"40\"><text x=\"4\" \
             y=\"24\" font-family=\"Nowhere,sans-serif\">{text}</text></svg>"
        )
    }

    /// Pixels that are not transparent, drawn with the embedded fonts alone; and letters that they
    /// do not have.
    fn drawn_alone(svg: &str) -> (usize, Vec<char>) {
        let missing = Mutex::new(Vec::new());
        let fallback: FallbackSelectionFn<'_> = Box::new(|letter, _, _| {
            missing.lock().expect("one thread").push(letter);
            None
        });
        let tree = parsed(svg, fallback).unwrap();
        let mut pixels = Pixmap::new(400, 40).unwrap();
        resvg::render(&tree, Transform::identity(), &mut pixels.as_mut());
        let inked = pixels.pixels().iter().filter(|pixel| pixel.alpha() > 0).count();
        (inked, missing.into_inner().expect("one thread"))
    }

    #[test]
    fn letters_are_drawn_where_no_font_is_installed() {
        assert_eq!(drawn_alone(&with_text("")).0, 0);
        let (inked, missing) = drawn_alone(&with_text("threshold"));
        assert!(inked > 100, "{inked} pixels");
        assert!(missing.is_empty());
    }

    #[test]
    fn the_embedded_font_has_every_sign_that_figures_use() {
        let signs = "−1\u{2009}234.5 ± 0.1 ∞ 95\u{202f}% … ’ “ ” – · θ β σ τ δ π ₀ ² äöüßéñ Ж";
        assert_eq!(drawn_alone(&with_text(signs)).1, Vec::<char>::new());
    }

    #[test]
    fn what_is_no_drawing_is_an_error() {
        assert!(png("").is_err());
        assert!(png("<svg").is_err());
        let endless = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1e9\" height=\"1\"/>";
        assert!(png(endless).unwrap_err().to_string().contains("16384"));
    }
}
