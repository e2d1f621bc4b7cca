//! No circle between the modules of a crate: each can be read, and moved, without those above it.
//!
//! Modules are files. One depends on another if its code names something that the other defines;
//! what a module only re-exports it does not depend on. Tests inside modules do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, UseTree, Visibility};

type Name = Vec<String>;

#[derive(Default)]
struct Module {
    children: BTreeSet<String>,
    /// What it passes on, by the name that others use.
    passed_on: BTreeMap<String, Name>,
    /// Paths that its code names.
    named: BTreeSet<Name>,
}

type Crate = BTreeMap<Name, Module>;

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|condition| condition == "test")
    })
}

/// Reads a file, and the files of the modules that it declares.
fn read(file: &Path, name: &Name, into: &mut Crate) {
    let text = fs::read_to_string(file).expect("a source file");
    let syntax = syn::parse_file(&text).expect("Rust");
    let mut reader = Reader { module: Module::default(), files: Vec::new(), file };
    reader.visit_file(&syntax);
    let (module, files) = (reader.module, reader.files);
    into.insert(name.clone(), module);
    for (child, file) in files {
        read(&file, &[&name[..], &[child]].concat(), into);
    }
}

struct Reader<'a> {
    module: Module,
    files: Vec<(String, PathBuf)>,
    file: &'a Path,
}

impl Reader<'_> {
    /// `child.rs` or `child/mod.rs`, beside `mod.rs` and `lib.rs` or in a folder of the file's name.
    fn file_of(&self, child: &str) -> PathBuf {
        let stem = self.file.file_stem().expect("a name").to_string_lossy();
        let folder = self.file.parent().expect("a folder");
        let folder = match &*stem {
            "lib" | "main" | "mod" => folder.to_owned(),
            other => folder.join(other),
        };
        let file = folder.join(format!("{child}.rs"));
        if file.is_file() { file } else { folder.join(child).join("mod.rs") }
    }

    fn used(&mut self, tree: &UseTree, before: &Name, is_passed_on: bool) {
        let with = |ident: &syn::Ident| [&before[..], &[ident.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.used(&path.tree, &with(&path.ident), is_passed_on),
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.used(tree, before, is_passed_on));
            }
            UseTree::Glob(_) => {
                self.module.named.insert(before.clone());
            }
            UseTree::Name(name) if name.ident == "self" => {
                self.module.named.insert(before.clone());
            }
            UseTree::Name(name) => {
                self.leaf(&name.ident.to_string(), with(&name.ident), is_passed_on)
            }
            UseTree::Rename(rename) => {
                self.leaf(&rename.rename.to_string(), with(&rename.ident), is_passed_on);
            }
        }
    }

    fn leaf(&mut self, name: &str, path: Name, is_passed_on: bool) {
        if is_passed_on {
            self.module.passed_on.insert(name.to_owned(), path);
        } else {
            self.module.named.insert(path);
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Mod(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !is_test(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        match &module.content {
            // What stands in the file belongs to the file.
            Some((_, items)) => items.iter().for_each(|item| self.visit_item(item)),
            None => {
                let child = module.ident.to_string();
                self.files.push((child.clone(), self.file_of(&child)));
                self.module.children.insert(child);
            }
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let is_passed_on = !matches!(item.vis, Visibility::Inherited);
        self.used(&item.tree, &Vec::new(), is_passed_on);
    }

    /// Who may see something is no use of theirs.
    fn visit_visibility(&mut self, _visibility: &'ast Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Name = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if names.len() > 1 {
            self.module.named.insert(names);
        }
        visit::visit_path(self, path);
    }
}

/// The module that defines what `path` names in `module`; none if it is another crate's.
fn defines(all: &Crate, module: &Name, path: &[String], depth: usize) -> Option<Name> {
    assert!(depth < 20, "`{}` in `{}` leads nowhere", path.join("::"), module.join("::"));
    let (first, rest) = path.split_first()?;
    let known = &all[module];
    let child = |name: &String| [&module[..], std::slice::from_ref(name)].concat();
    let (mut at, mut rest) = match first.as_str() {
        "crate" => (Vec::new(), rest),
        "self" => (module.clone(), rest),
        "super" => (module[..module.len().checked_sub(1)?].to_vec(), rest),
        _ if known.children.contains(first) => (child(first), rest),
        _ => return None,
    };
    while let Some((next, after)) = rest.split_first() {
        let known = &all[&at];
        if next == "super" {
            at.pop();
        } else if known.children.contains(next) {
            at.push(next.clone());
        } else if let Some(passed) = known.passed_on.get(next) {
            let path = [&passed[..], after].concat();
            return defines(all, &at, &path, depth + 1);
        } else {
            break;
        }
        rest = after;
    }
    Some(at)
}

/// Modules that depend on themselves through others.
fn circles(all: &Crate) -> Vec<String> {
    let mut arrows: BTreeMap<&Name, BTreeSet<Name>> = BTreeMap::new();
    for (name, module) in all {
        let targets = module.named.iter().filter_map(|path| defines(all, name, path, 0));
        arrows.insert(name, targets.filter(|target| target != name).collect());
    }
    let reached = |from: &Name| {
        let mut seen = BTreeSet::new();
        let mut waiting: Vec<&Name> = arrows[from].iter().collect();
        while let Some(next) = waiting.pop() {
            if seen.insert(next.clone()) {
                waiting.extend(&arrows[next]);
            }
        }
        seen
    };
    let all_reached: BTreeMap<&Name, BTreeSet<Name>> =
        arrows.keys().map(|name| (*name, reached(name))).collect();
    let mut found = Vec::new();
    for (name, targets) in &arrows {
        for target in targets.iter().filter(|target| all_reached[target].contains(*name)) {
            found.push(format!("{} -> {}", name.join("::"), target.join("::")));
        }
    }
    found
}

fn modules_of(folder: &str) -> Crate {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder).join("src/lib.rs");
    let mut all = Crate::new();
    read(&root, &Vec::new(), &mut all);
    all
}

#[test]
fn no_crate_has_a_circle_of_modules() {
    let mut found = Vec::new();
    for folder in ["crates/hambo", "crates/hambo-io", "crates/hambo-cli", "python"] {
        let all = modules_of(folder);
        assert!(all.len() > 5, "{folder}: only {} modules were found", all.len());
        found.extend(circles(&all).into_iter().map(|arrow| format!("{folder}: {arrow}")));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_circle_would_be_found() {
    let place = tempfile::tempdir().expect("a place");
    let write = |name: &str, text: &str| fs::write(place.path().join(name), text).expect("a file");
    write("lib.rs", "mod a; mod b; mod c; pub use b::Second;");
    write("a.rs", "use crate::Second; pub struct First(Second);");
    write("b.rs", "pub struct Second; fn f() { crate::c::g() }");
    write("c.rs", "pub fn g() {} #[cfg(test)] mod tests { use crate::a::First; }");
    let mut all = Crate::new();
    read(&place.path().join("lib.rs"), &Vec::new(), &mut all);
    assert_eq!(circles(&all), Vec::<String>::new());
    write("c.rs", "use super::a; pub fn g(_: a::First) {}");
    let mut all = Crate::new();
    read(&place.path().join("lib.rs"), &Vec::new(), &mut all);
    assert_eq!(circles(&all), ["a -> b", "b -> c", "c -> a"]);
}
