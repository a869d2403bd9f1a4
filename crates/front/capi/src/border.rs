//! The border to C: pointers are checked, and panics end here.

use std::any::Any;
use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::error::{Error, Fault, INCAST_DEFECT, INCAST_OK};

/// Runs the body of a function of C, and tells its fault.
///
/// # Safety
///
/// `error` is NULL, or may be written.
pub(crate) unsafe fn guard(error: *mut Error, body: impl FnOnce() -> Result<(), Fault>) -> i32 {
    let done = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        let what = words(panic.as_ref()).to_owned();
        // What a panic brings may panic itself when it is dropped.
        std::mem::forget(panic);
        Err(Fault::new(INCAST_DEFECT, format!("a defect of incast, please report it: {what}")))
    });
    let fault = done.err();
    if !error.is_null() {
        // SAFETY: the caller promises it.
        unsafe { error.write(Error::of(fault.as_ref())) };
    }
    fault.map_or(INCAST_OK, |fault| fault.code)
}

fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("it panicked")
}

/// Drops what the caller frees; a panic ends here, and nobody could be told.
pub(crate) fn free<T>(what: Option<T>) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(what))) {
        std::mem::forget(panic);
    }
}

/// The target of a pointer.
///
/// # Safety
///
/// The pointer is NULL, or what it points to lives as long as `'a`.
pub(crate) unsafe fn given<'a, T>(pointer: *const T, name: &str) -> Result<&'a T, Fault> {
    // SAFETY: the caller promises it.
    unsafe { pointer.as_ref() }.ok_or_else(|| Fault::argument(format!("{name} is NULL")))
}

/// The place for what a function brings, with `nothing` in it.
///
/// # Safety
///
/// The pointer is NULL, or may be written as long as `'a`.
pub(crate) unsafe fn place<'a, T>(
    pointer: *mut T,
    nothing: T,
    name: &str,
) -> Result<&'a mut T, Fault> {
    if pointer.is_null() {
        return Err(Fault::argument(format!("{name} is NULL: there is no place for the result")));
    }
    // SAFETY: the caller promises it. What was there before is not read, nor dropped.
    unsafe {
        pointer.write(nothing);
        Ok(&mut *pointer)
    }
}

/// A text that may be missing.
///
/// # Safety
///
/// The pointer is NULL, or a text behind which there is a zero, that lives as long as `'a`.
pub(crate) unsafe fn maybe_text<'a>(
    text: *const c_char,
    name: &str,
) -> Result<Option<&'a str>, Fault> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller promises it.
    let text = unsafe { CStr::from_ptr(text) };
    let text = text.to_str().map_err(|_| Fault::argument(format!("{name} is no UTF-8")))?;
    Ok(Some(text))
}

/// A text.
///
/// # Safety
///
/// As for [`maybe_text`].
pub(crate) unsafe fn text<'a>(text: *const c_char, name: &str) -> Result<&'a str, Fault> {
    // SAFETY: the caller promises it.
    let text = unsafe { maybe_text(text, name) }?;
    text.ok_or_else(|| Fault::argument(format!("{name} is NULL")))
}

/// The bytes of a message. Without bytes the pointer may be NULL.
///
/// # Safety
///
/// The pointer is NULL, or has so many bytes, that live as long as `'a`.
pub(crate) unsafe fn body<'a>(data: *const u8, bytes: usize) -> Result<&'a [u8], Fault> {
    if bytes == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return Err(Fault::argument(format!("the body is NULL, and should have {bytes} B")));
    }
    if isize::try_from(bytes).is_err() {
        return Err(Fault::argument(format!("no body has {bytes} B")));
    }
    // SAFETY: the caller promises it.
    Ok(unsafe { std::slice::from_raw_parts(data, bytes) })
}

/// A time in seconds; [`None`] for ever.
pub(crate) fn time(seconds: f64) -> Result<Option<Duration>, Fault> {
    if seconds == f64::INFINITY {
        return Ok(None);
    }
    let time = Duration::try_from_secs_f64(seconds);
    time.map(Some).map_err(|_| {
        Fault::argument(format!("{seconds} s is no time; give zero or more, or INFINITY"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{INCAST_BAD_ARGUMENT, INCAST_GONE};
    use std::ptr::{null, null_mut};

    fn message(error: &Error) -> String {
        let text = error.message.iter().take_while(|&&byte| byte != 0);
        String::from_utf8(text.map(|&byte| byte.cast_unsigned()).collect()).unwrap()
    }

    struct Broken;

    impl Drop for Broken {
        fn drop(&mut self) {
            panic!("it cannot be dropped");
        }
    }

    #[test]
    fn a_panic_ends_at_the_border() {
        let mut error = Error::of(None);
        for what in ["one", "two"] {
            let code = unsafe { guard(&raw mut error, || panic!("{what} is broken")) };
            assert_eq!((code, error.code), (INCAST_DEFECT, INCAST_DEFECT));
            assert!(message(&error).ends_with(&format!("{what} is broken")));
        }
        free(Some(Broken));
        free(None::<Broken>);
    }

    #[test]
    fn errors_are_told_and_taken_back() {
        let mut error = Error::of(None);
        let fails = || Err(Fault::new(INCAST_GONE, "gone"));
        assert_eq!(unsafe { guard(&raw mut error, fails) }, INCAST_GONE);
        assert_eq!((error.code, message(&error)), (INCAST_GONE, "gone".to_owned()));
        assert_eq!(unsafe { guard(null_mut(), fails) }, INCAST_GONE);
        assert_eq!(unsafe { guard(&raw mut error, || Ok(())) }, INCAST_OK);
        assert_eq!((error.code, message(&error)), (INCAST_OK, String::new()));
    }

    #[test]
    fn arguments_that_cannot_be_are_named() {
        let bad = |fault: Fault| {
            assert_eq!(fault.code, INCAST_BAD_ARGUMENT);
            fault.message
        };
        unsafe {
            assert_eq!(bad(given(null::<u8>(), "the host").unwrap_err()), "the host is NULL");
            assert!(bad(place(null_mut::<u8>(), 0, "peer").unwrap_err()).contains("peer is NULL"));
            assert!(bad(body(null(), 1).unwrap_err()).contains("1 B"));
            assert!(bad(body(&raw const b"x"[0], usize::MAX).unwrap_err()).contains("no body"));
            assert_eq!(body(null(), 0).unwrap(), b"");
            assert!(bad(text(c"\xff".as_ptr(), "the key").unwrap_err()).contains("no UTF-8"));
            assert!(bad(text(null(), "the key").unwrap_err()).contains("NULL"));
        }
        for wrong in [-1.0, f64::NAN, f64::NEG_INFINITY, 1e300] {
            assert!(bad(time(wrong).unwrap_err()).contains("no time"));
        }
        assert_eq!(time(f64::INFINITY).unwrap(), None);
        assert_eq!(time(0.5).unwrap(), Some(Duration::from_millis(500)));
    }
}
