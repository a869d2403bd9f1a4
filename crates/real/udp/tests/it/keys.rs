//! Files of keys.

use incast_udp::security::{Identity, PeerKey, Secret};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A folder that is gone at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("incast-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn keys_come_back_from_their_files() {
    let folder = Folder::new("keys");
    let [private, public, secret] = ["a", "b", "c"].map(|name| folder.0.join(name));
    let identity = Identity::generate().unwrap();
    identity.write(&private).unwrap();
    assert_eq!(Identity::read(&private).unwrap().public(), identity.public());
    identity.public().write(&public).unwrap();
    assert_eq!(PeerKey::read_all(&public).unwrap(), [identity.public()]);
    let line = fs::read_to_string(&public).unwrap();
    assert_eq!(line.parse::<PeerKey>().unwrap(), identity.public());
    assert_eq!(identity.public().to_string().parse::<PeerKey>().unwrap(), identity.public());
    Secret::generate().unwrap().write(&secret).unwrap();
    Secret::from_file(&secret).unwrap();
    assert_eq!([&private, &public, &secret].map(|path| mode(path)), [0o600, 0o644, 0o600]);
    assert_ne!(Identity::generate().unwrap().public(), identity.public());
}

/// Bob's pair of RFC 7748, section 6.1.
#[test]
fn a_public_key_is_that_of_its_private_key() {
    let folder = Folder::new("pair");
    let digits = "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb";
    let public = "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f";
    let path = folder.file("bob", &format!("# Bob\n\n incast-private-key {digits}\n"), 0o600);
    assert_eq!(Identity::read(&path).unwrap().public(), public.parse().unwrap());
}

#[test]
fn faults_of_files_are_told_with_place_and_remedy() {
    let folder = Folder::new("faults");
    let key = Identity::generate().unwrap().public();
    let secret = format!("incast-secret {key}\n");
    let open = folder.file("open", &secret, 0o640);
    let twice = folder.file("twice", &format!("{secret}{secret}"), 0o600);
    let empty = folder.file("empty", "# nothing\n", 0o600);
    let public = folder.file("public", &format!("incast-public-key {key}\n"), 0o600);
    let short = folder.file("short", "\nincast-secret 12\n", 0o600);
    let none = folder.0.join("none");
    let at = |path: &Path| path.display().to_string();
    for (path, want) in [
        (
            &open,
            format!(
                "others may read {0}, which has permissions 640; run `chmod 600 {0}`",
                at(&open)
            ),
        ),
        (&twice, format!("{} has 2 lines of a key; leave one `incast-secret`", at(&twice))),
        (&empty, format!("{} has 0 lines of a key; leave one `incast-secret`", at(&empty))),
        (
            &public,
            format!(
                "{}, line 1: no `incast-secret ` and 64 hexadecimal digits; copy it again",
                at(&public)
            ),
        ),
        (
            &short,
            format!(
                "{}, line 2: no `incast-secret ` and 64 hexadecimal digits; copy it again",
                at(&short)
            ),
        ),
        (&none, format!("cannot read {}: No such file or directory (os error 2)", at(&none))),
    ] {
        assert_eq!(Secret::from_file(path).unwrap_err().to_string(), want);
    }
    let error = Secret::generate().unwrap().write(&open).unwrap_err().to_string();
    assert!(error.starts_with(&format!("cannot write {}: File exists", at(&open))), "{error}");
    assert_eq!(fs::read_to_string(&open).unwrap(), secret);
    let error = "incast-public-key x".parse::<PeerKey>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "\"incast-public-key x\" is not a public key, `incast-public-key ` and 64 hexadecimal \
         digits; copy it again"
    );
}

#[test]
fn what_is_printed_tells_no_secret() {
    let folder = Folder::new("printed");
    let (private, secret) = (folder.0.join("private"), folder.0.join("secret"));
    let (of_host, of_all) = (Identity::generate().unwrap(), Secret::generate().unwrap());
    of_host.write(&private).unwrap();
    of_all.write(&secret).unwrap();
    let printed = format!("{of_host:?} {of_all:?}");
    for path in [private, secret] {
        let text = fs::read_to_string(path).unwrap();
        let digits = text.split_whitespace().next_back().unwrap();
        assert!(!printed.contains(&digits[..16]), "{printed}");
    }
    assert!(printed.contains(&of_host.public().to_string()));
}
