//! A command laid out so that the first process can exec it without allocating.
//!
//! The launcher writes argument, environment and candidate strings into a memory file with tables of
//! offsets; the first process maps it privately, turns offsets into pointers in place, and hands the
//! tables to `execve` as they are. Size is bounded by the kernel's own argument limit only.

use super::check;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Access, MemfdFlags, access, memfd_create};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::{CStr, c_char, c_void};

/// Words before everything else: three table starts, the start of the strings, the working directory, and
/// how many descriptor numbers follow the header.
const HEADER_WORDS: usize = 6;
const STRINGS: usize = 3;
const CWD: usize = 4;
const NUMBERS: usize = 5;
const WORD: usize = size_of::<u64>();

/// Collects a command on the launcher's side.
#[derive(Default)]
pub(crate) struct ImageBuilder {
    tables: [Vec<u64>; 3],
    numbers: Vec<u64>,
    strings: Vec<u8>,
    cwd: u64,
}

/// Which table a string belongs to.
#[derive(Clone, Copy)]
enum Table {
    Candidates,
    Arguments,
    Environment,
}

impl ImageBuilder {
    /// A path to try to execute; tried in order.
    pub(crate) fn candidate(&mut self, path: &CStr) {
        self.add(Table::Candidates, path);
    }

    /// One more argument.
    pub(crate) fn argument(&mut self, text: &CStr) {
        self.add(Table::Arguments, text);
    }

    /// One more `NAME=value`.
    pub(crate) fn variable(&mut self, text: &CStr) {
        self.add(Table::Environment, text);
    }

    /// The working directory.
    pub(crate) fn working_directory(&mut self, path: &CStr) {
        self.cwd = self.string(path);
    }

    /// The number the next named descriptor has inside.
    pub(crate) fn descriptor(&mut self, number: u32) {
        self.numbers.push(number.into());
    }

    fn add(&mut self, table: Table, text: &CStr) {
        let at = self.string(text);
        self.tables[table as usize].push(at);
    }

    fn string(&mut self, text: &CStr) -> u64 {
        let at = self.strings.len() as u64;
        self.strings.extend_from_slice(text.to_bytes_with_nul());
        at
    }

    /// Writes the image into a sealed-off memory file; returns it and its length.
    pub(crate) fn finish(self) -> Result<(OwnedFd, u64), Errno> {
        // Each table ends in a null entry; the arguments table has one spare word in front, where the
        // shell's own name goes when a script without an interpreter line has to be run by it.
        let words = HEADER_WORDS
            + self.numbers.len()
            + 1
            + self.tables.iter().map(|table| table.len() + 1).sum::<usize>();
        let strings_at = (words * WORD) as u64;
        let mut image: Vec<u64> = Vec::with_capacity(words);
        image.extend([0; HEADER_WORDS]);
        image[CWD] = strings_at + self.cwd;
        image[NUMBERS] = self.numbers.len() as u64;
        image.extend(&self.numbers);
        for (index, table) in self.tables.iter().enumerate() {
            if index == Table::Arguments as usize {
                image.push(0);
            }
            image[index] = (image.len() * WORD) as u64;
            image.extend(table.iter().map(|offset| strings_at + offset));
            image.push(0);
        }
        image[STRINGS] = strings_at;
        let mut bytes: Vec<u8> = image.iter().flat_map(|word| word.to_ne_bytes()).collect();
        bytes.extend_from_slice(&self.strings);
        let file = memfd_create(c"stockade-exec", MemfdFlags::CLOEXEC)?;
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let written = rustix::io::write(&file, rest)?;
            rest = &rest[written..];
        }
        Ok((file, bytes.len() as u64))
    }
}

/// A mapped image in the first process, ready for `execve`.
pub(crate) struct Exec {
    base: *mut c_void,
    length: usize,
    candidates: *const *const c_char,
    arguments: *mut *const c_char,
    environment: *const *const c_char,
    cwd: *const c_char,
}

impl Exec {
    /// Maps an image the launcher made and turns its offsets into pointers.
    pub(crate) fn map(file: impl AsFd, length: u64) -> Result<Self, Errno> {
        let length = length as usize;
        // SAFETY: a fresh private mapping, not aliased by anything.
        let base = unsafe {
            mmap(std::ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE, file, 0)
        }?;
        // SAFETY: the launcher, which is trusted, wrote `HEADER_WORDS` words and tables of offsets inside
        // the image between the first table and the strings; all are word-aligned.
        unsafe {
            let word = |index: usize| *base.cast::<u64>().add(index) as usize;
            let at = |offset: usize| base.byte_add(offset);
            let first = word(0) / WORD;
            for index in first..word(STRINGS) / WORD {
                let slot = base.cast::<u64>().add(index);
                if *slot != 0 {
                    *slot += base as u64;
                }
            }
            Ok(Self {
                base,
                length,
                candidates: at(word(0)).cast_const().cast(),
                arguments: at(word(1)).cast(),
                environment: at(word(2)).cast_const().cast(),
                cwd: at(word(CWD)).cast_const().cast(),
            })
        }
    }

    /// The working directory.
    pub(crate) fn working_directory(&self) -> &CStr {
        // SAFETY: a NUL-ended string inside the mapping, which lives as long as `self`.
        unsafe { CStr::from_ptr(self.cwd) }
    }

    /// The numbers the named descriptors have inside, in the order they were sent.
    pub(crate) fn descriptors(&self) -> &[u64] {
        // SAFETY: the header says how many words follow it, all inside the mapping.
        unsafe {
            let words = self.base.cast::<u64>();
            std::slice::from_raw_parts(words.add(HEADER_WORDS), *words.add(NUMBERS) as usize)
        }
    }

    /// Executes the first candidate that can be. Returns only the error, the one a shell would report:
    /// "permission denied" somewhere on the way beats "not found" at the end.
    pub(crate) fn exec(&self) -> Errno {
        let mut worst = Errno::NOENT;
        // SAFETY: tables end in null; every other entry points at a NUL-ended string of the mapping. The
        // spare word before the arguments is writable and belongs to the image.
        unsafe {
            let mut candidate = self.candidates;
            while !(*candidate).is_null() {
                // A try that fails costs ten times as much as a look.
                let missing = |errno| matches!(errno, Errno::NOENT | Errno::NOTDIR);
                if access(CStr::from_ptr(*candidate), Access::EXISTS).is_err_and(missing) {
                    candidate = candidate.add(1);
                    continue;
                }
                let error = execve(*candidate, self.arguments, self.environment);
                match error {
                    Errno::NOENT | Errno::NOTDIR => {}
                    Errno::NOEXEC => {
                        const SHELL: &CStr = c"/bin/sh";
                        *self.arguments = *candidate;
                        let with_shell = self.arguments.sub(1);
                        *with_shell = SHELL.as_ptr();
                        return execve(SHELL.as_ptr(), with_shell, self.environment);
                    }
                    Errno::ACCESS => worst = error,
                    other => return other,
                }
                candidate = candidate.add(1);
            }
        }
        worst
    }
}

impl Drop for Exec {
    fn drop(&mut self) {
        // SAFETY: our own mapping, and no pointer into it outlives `self`. Failure leaves it mapped.
        let _ = unsafe { munmap(self.base, self.length) };
    }
}

/// SAFETY of the caller: all three as `execve` wants them.
unsafe fn execve(
    path: *const c_char,
    arguments: *const *const c_char,
    environment: *const *const c_char,
) -> Errno {
    // SAFETY: promised by the caller.
    match check(unsafe { libc::execve(path, arguments, environment) }.into()) {
        Ok(_) => Errno::INVAL,
        Err(error) => error,
    }
}
