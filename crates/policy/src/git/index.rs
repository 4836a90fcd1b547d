//! The index: the list of files by which git compares, restores and removes.
//!
//! Git looks at the names in it when something is added, not when the list is read: `../.ssh/id_rsa` or
//! `.git/hooks/post-checkout` in a list that somebody else wrote is compared and written like any other file. So
//! nobody gets to write such a list.
//!
//! What stands behind the entries is believed just as well: directories to be listed, trees to be committed that have
//! nothing to do with the entries. Git can do without, so it is left out.

use super::refusal::GitRefusal;
use sha2::Digest;
use std::borrow::Cow;
use std::path::Path;

const HEADER: usize = 12;
/// Times, device, inode, mode, owner and size in front of the digest.
const STAT: usize = 40;
const NAME_LENGTH: u16 = 0x0fff;
const EXTENDED: u16 = 0x4000;
const DIRECTORY: u32 = 0o040_000;
/// Offset of the end of the entries and a digest, behind a name and a length.
const END_OF_ENTRIES: &[u8] = b"EOIE";
const OFFSETS: &[u8] = b"IEOT";

/// The digests a repository names its objects by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectFormat {
    /// Twenty bytes.
    Sha1,
    /// Thirty-two bytes.
    Sha256,
}

impl ObjectFormat {
    /// As a repository's settings say.
    pub fn of_config(config: &[u8]) -> Self {
        // Settings that cannot be read are none.
        let said = super::git_config_values(config, b"extensions.objectformat").unwrap_or_default();
        match said.last() {
            Some(value) if value.eq_ignore_ascii_case(b"sha256") => Self::Sha256,
            _ => Self::Sha1,
        }
    }

    /// What stands at the end of a list.
    fn digest(self, content: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha1 => sha1::Sha1::digest(content).to_vec(),
            Self::Sha256 => sha2::Sha256::digest(content).to_vec(),
        }
    }

    fn length(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }
}

/// Whether a file of this name in a git directory is a list of files.
pub(crate) fn is_git_index(name: &[u8]) -> bool {
    name == b"index" || name.starts_with(b"sharedindex.")
}

/// Whether the index of a repository may hold this: names that stay in the work tree and out of git directories.
///
/// # Errors
///
/// The name that does not, or what makes the list unreadable.
pub fn check_git_index(content: &[u8], format: ObjectFormat) -> Result<(), GitRefusal> {
    git_index_names(content, format, |_| {})
}

/// The form in which a list may stand under this name: with nothing behind its entries that git can do without. A list
/// that others share is named after its digest and cannot be changed, so it has to be like that already.
///
/// # Errors
///
/// As [`check_git_index`].
pub fn settled_git_index<'c>(
    name: &[u8],
    content: &'c [u8],
    format: ObjectFormat,
) -> Result<Cow<'c, [u8]>, GitRefusal> {
    check_git_index(content, format)?;
    let mut list = List::new(content, format)?;
    while list.next_entry()?.is_some() {}
    let extensions = list.extensions()?;
    // By the rules of git a name in capitals is one that a reader may skip.
    let is_needed = |name: &[u8]| name.first().is_some_and(u8::is_ascii_lowercase);
    if name != b"index" {
        return match extensions.iter().all(|(name, _)| [END_OF_ENTRIES, OFFSETS].contains(name)) {
            true => Ok(Cow::Borrowed(content)),
            false => Err(GitRefusal::new(b"index", 0, "a shared index holds entries and nothing else")),
        };
    }
    if extensions.iter().all(|(name, _)| is_needed(name)) {
        return Ok(Cow::Borrowed(content));
    }
    let mut settled = content[..list.at].to_vec();
    for (_, whole) in extensions.iter().filter(|(name, _)| is_needed(name)) {
        settled.extend_from_slice(whole);
    }
    settled.extend(format.digest(&settled));
    Ok(Cow::Owned(settled))
}

/// Tells every name of an index.
///
/// # Errors
///
/// As [`check_git_index`].
pub fn git_index_names(
    content: &[u8],
    format: ObjectFormat,
    mut each: impl FnMut(&Path),
) -> Result<(), GitRefusal> {
    let mut list = List::new(content, format)?;
    while let Some(Entry { name, is_directory }) = list.next_entry()? {
        let whole = if is_directory { name.strip_suffix(b"/").unwrap_or(name) } else { name };
        // What replaces a name of a shared list has none of its own.
        if !whole.is_empty() {
            check_name(whole)?;
            each(as_path(whole));
        }
    }
    list.check_extensions()
}

#[cfg(unix)]
fn as_path(name: &[u8]) -> &Path {
    use std::os::unix::ffi::OsStrExt;
    Path::new(std::ffi::OsStr::from_bytes(name))
}

#[cfg(not(unix))]
fn as_path(name: &[u8]) -> &Path {
    Path::new(std::str::from_utf8(name).unwrap_or_default())
}

fn check_name(name: &[u8]) -> Result<(), GitRefusal> {
    let refuse = |reason| Err(GitRefusal::new(name, 0, reason));
    for part in name.split(|byte| *byte == b'/') {
        match part {
            b"" => return refuse("the index names a file by an absolute or empty path"),
            b"." | b".." => return refuse("the index names a file outside the work tree"),
            part if part.contains(&0) => return refuse("the index holds a name with a NUL byte"),
            part if is_git(part) => return refuse("the index names a file in a git directory"),
            _ => {}
        }
    }
    Ok(())
}

/// `.git` as any file system may spell it: without case, with dots and blanks behind it, by its short name.
fn is_git(part: &[u8]) -> bool {
    let stem = part.split(|byte| *byte == b':').next().unwrap_or_default();
    let end = stem.iter().rposition(|byte| !matches!(byte, b'.' | b' ')).map_or(0, |last| last + 1);
    let stem = &stem[..end];
    stem.eq_ignore_ascii_case(b".git") || stem.eq_ignore_ascii_case(b"git~1")
}

/// The name of something behind the entries, and all of it.
type Extension<'c> = (&'c [u8], &'c [u8]);

struct Entry<'l> {
    name: &'l [u8],
    is_directory: bool,
}

/// A list that is being read.
struct List<'c> {
    content: &'c [u8],
    digest: usize,
    version: u32,
    left: u32,
    at: usize,
    /// The last name, whose beginning the next one may share.
    name: Vec<u8>,
    /// Where entries begin, and how much of the name before each goes on with.
    starts: Vec<(u32, usize)>,
}

impl<'c> List<'c> {
    fn new(content: &'c [u8], format: ObjectFormat) -> Result<Self, GitRefusal> {
        let digest = format.length();
        // The digest of it all stands at the end.
        let body = content.len().checked_sub(digest).and_then(|end| content.get(..end)).ok_or_else(odd)?;
        let (version, left) = match (body.get(..4), number(body, 4), number(body, 8)) {
            (Some(b"DIRC"), Some(version @ 2..=4), Some(count)) => (version, count),
            _ => return Err(odd()),
        };
        Ok(Self { content: body, digest, version, left, at: HEADER, name: Vec::new(), starts: Vec::new() })
    }

    fn next_entry(&mut self) -> Result<Option<Entry<'_>>, GitRefusal> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let start = self.at;
        let mode = number(self.content, start + 24).ok_or_else(odd)?;
        let mut at = start + STAT + self.digest;
        let flags = short(self.content, at).ok_or_else(odd)?;
        at += 2;
        if flags & EXTENDED != 0 {
            if self.version < 3 {
                return Err(odd());
            }
            at += 2;
        }
        let shared = if self.version == 4 { self.shared(&mut at)? } else { 0 };
        let rest = self.content.get(at..).ok_or_else(odd)?;
        let length = rest.iter().position(|byte| *byte == 0).ok_or_else(odd)?;
        let whole = shared + length;
        // Git goes by the number where it is one; then it must be the same.
        let said = usize::from(flags & NAME_LENGTH);
        if said != whole.min(usize::from(NAME_LENGTH)) {
            return Err(odd());
        }
        self.name.truncate(shared);
        self.name.extend_from_slice(&rest[..length]);
        self.starts.push((u32::try_from(start).map_err(|_| odd())?, shared));
        self.at = match self.version {
            4 => at + length + 1,
            // Padded to eight bytes, with one NUL at least.
            _ => start + ((at + length - start + 8) & !7),
        };
        Ok(Some(Entry { name: &self.name, is_directory: mode & 0o170_000 == DIRECTORY }))
    }

    /// How much of the name before is kept.
    fn shared(&self, at: &mut usize) -> Result<usize, GitRefusal> {
        let mut byte = *self.content.get(*at).ok_or_else(odd)?;
        *at += 1;
        let mut cut = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = *self.content.get(*at).ok_or_else(odd)?;
            *at += 1;
            cut = cut.checked_add(1).and_then(|cut| cut.checked_mul(128)).ok_or_else(odd)?;
            cut += usize::from(byte & 0x7f);
        }
        self.name.len().checked_sub(cut).ok_or_else(odd)
    }

    /// What stands behind the entries.
    fn extensions(&self) -> Result<Vec<Extension<'c>>, GitRefusal> {
        let mut found = Vec::new();
        let mut rest = self.content.get(self.at..).ok_or_else(odd)?;
        while !rest.is_empty() {
            let length = number(rest, 4).ok_or_else(odd)? as usize;
            let (whole, behind) = rest.split_at_checked(length.saturating_add(8)).ok_or_else(odd)?;
            found.push((&whole[..4], whole));
            rest = behind;
        }
        Ok(found)
    }

    /// Some lists say where parts of them begin, for readers with many threads: those must see the same entries.
    fn check_extensions(&self) -> Result<(), GitRefusal> {
        for (name, whole) in self.extensions()? {
            let body = &whole[8..];
            if name == END_OF_ENTRIES && number(body, 0).is_none_or(|end| end as usize != self.at) {
                return Err(odd());
            }
            if name == OFFSETS {
                self.check_offsets(body)?;
            }
        }
        // Readers look for it at the end before they look at anything else.
        let last = self.content.len().checked_sub(8 + 4 + self.digest).and_then(|at| self.content.get(at..));
        match last {
            Some(last)
                if last.starts_with(END_OF_ENTRIES) && number(last, 8) != u32::try_from(self.at).ok() =>
            {
                Err(odd())
            }
            _ => Ok(()),
        }
    }

    fn check_offsets(&self, body: &[u8]) -> Result<(), GitRefusal> {
        let mut entry = 0_usize;
        for block in body.get(4..).ok_or_else(odd)?.chunks(8) {
            let (start, count) = number(block, 0).zip(number(block, 4)).ok_or_else(odd)?;
            // A block's first name is read without the one before it.
            if self.starts.get(entry) != Some(&(start, 0)) {
                return Err(odd());
            }
            entry += count as usize;
        }
        if entry == self.starts.len() { Ok(()) } else { Err(odd()) }
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_be_bytes(bytes.try_into().ok()?))
}

fn odd() -> GitRefusal {
    GitRefusal::new(b"index", 0, "it is no index as git writes one")
}
