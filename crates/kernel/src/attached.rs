//! Attaching, and what is attached, whoever did it: found by the records that live with the programs.

use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use libbpf_rs::query::{MapInfoIter, ProgInfoIter, ProgInfoQueryOptions};
use libbpf_rs::skel::{OpenSkel as _, SkelBuilder as _};
use libbpf_rs::{MapCore as _, MapFlags, MapHandle, MapType, OpenMapMut, OpenObject};

use crate::algorithm::{Algorithm, Settings};
use crate::programs::timely::types::counters;
use crate::programs::{Record, Shared, cgroup, dctcp, put, rtcp, text, timely};
use crate::system::{self, Signature};
use crate::{Error, Result, fail};

const FIRST: [u8; 4] = [0; 4];

/// The section of a program's knobs, and the map that it becomes.
pub(crate) const KNOBS: &str = ".data.knobs";

/// Where an algorithm is to be used.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// Its name for sockets, of 1 to 15 characters; `bpf_` and the algorithm's own if absent.
    pub name: Option<String>,
    /// By all TCP connections of this cgroup.
    pub cgroup: Option<PathBuf>,
    /// By all sockets that choose no other.
    pub default: bool,
}

/// Counts since it was attached.
pub use crate::programs::timely::types::counters as Counters;

/// An algorithm that is attached.
#[derive(Debug)]
pub struct Attached {
    /// Which.
    pub algorithm: Algorithm,
    /// Its name for sockets.
    pub name: String,
    /// When, in seconds of Unix time.
    pub attached_at_s: u64,
    /// What was the default before it, if it was made that.
    pub previous_default: Option<String>,
    /// The cgroup whose connections use it.
    pub cgroup: Option<PathBuf>,
    /// Its parameters.
    pub settings: Settings,
    record: MapHandle,
    knobs: MapHandle,
    counters: MapHandle,
    pub(crate) events: MapHandle,
    ops_map_id: u32,
    cgroup_program_id: u32,
}

/// Attaches an algorithm. On an error nothing is left of it.
///
/// # Errors
/// The machine lacks something, the name is taken or none, the cgroup is none, the kernel refuses.
pub fn attach(settings: &Settings, place: &Place) -> Result<String> {
    settings.check()?;
    system::check()?;
    let algorithm = settings.algorithm();
    let name = place.name.clone().unwrap_or_else(|| format!("bpf_{}", algorithm.name()));
    check_name(&name)?;
    let group = place.cgroup.as_deref().map(open_cgroup).transpose()?;
    let mut record = Record {
        attached_at_s: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs()),
        ..Record::default()
    };
    if !put(&mut record.settings, &settings.lines()) {
        fail!("--set: more than 2047 characters of settings");
    }
    put_known(&mut record.algorithm, algorithm.name());
    put_known(&mut record.name, &name);
    if let Some(path) = &place.cgroup
        && !put(&mut record.cgroup, &path.to_string_lossy())
    {
        fail!("{}: expected a path of at most 255 characters", path.display());
    }
    let knobs = settings.knobs()?;
    let mut object = MaybeUninit::uninit();
    match algorithm {
        Algorithm::Timely => attach_timely(&mut object, &name, &knobs, &mut record)?,
        Algorithm::Rtcp => attach_rtcp(&mut object, &name, &knobs, &mut record)?,
        Algorithm::Dctcp => attach_dctcp(&mut object, &name, &knobs, &mut record)?,
    }
    if let Err(error) = take_place(&name, place, group.as_ref()) {
        let attached = find(Some(&name))?;
        attached.detach()?;
        return Err(error);
    }
    Ok(name)
}

/// Everything that incast has attached, by any process, in the order of their names.
///
/// # Errors
/// The kernel refuses to tell.
pub fn all() -> Result<Vec<Attached>> {
    system::check()?;
    let options = ProgInfoQueryOptions::default().include_map_ids(true);
    let programs: Vec<Vec<u32>> =
        ProgInfoIter::with_query_opts(options).map(|program| program.map_ids).collect();
    let mut found = Vec::new();
    for map in MapInfoIter::default().filter(|map| map.ty == MapType::Array) {
        let name = map.name.to_string_lossy();
        let Some(algorithm) = name.strip_suffix("_record").and_then(|of| Algorithm::named(of).ok())
        else {
            continue;
        };
        // Between the list and now it may have gone.
        let Ok(handle) = MapHandle::from_map_id(map.id) else { continue };
        // Only one of the programs names the record; the others share their maps with it.
        let beside: Vec<u32> =
            programs.iter().filter(|ids| ids.contains(&map.id)).flatten().copied().collect();
        let own: Vec<u32> = programs
            .iter()
            .filter(|ids| ids.iter().any(|id| beside.contains(id)))
            .flatten()
            .copied()
            .collect();
        if let Some(attached) = Attached::read(algorithm, handle, &own)? {
            found.push(attached);
        }
    }
    found.sort_by(|a: &Attached, b| a.name.cmp(&b.name));
    Ok(found)
}

/// The one of that name (for sockets, or of the algorithm), or the only one.
///
/// # Errors
/// There is none, or several and no name.
pub fn find(name: Option<&str>) -> Result<Attached> {
    let mut there = all()?;
    let names = there.iter().map(|one| one.name.clone()).collect::<Vec<_>>().join(", ");
    match name {
        _ if there.is_empty() => match name {
            Some(name) => fail!("{name}: is not attached; nothing of incast is"),
            None => fail!("nothing of incast is attached; incast kernel attach timely does that"),
        },
        Some(name) => there
            .into_iter()
            .find(|one| one.name == name || one.algorithm.name() == name)
            .ok_or_else(|| Error(format!("{name}: is not attached; there is {names}"))),
        None if there.len() == 1 => Ok(there.remove(0)),
        None => fail!("several are attached, {names}: name one"),
    }
}

impl Attached {
    fn read(algorithm: Algorithm, record: MapHandle, own: &[u32]) -> Result<Option<Self>> {
        let Some(said) = value::<Record>(&record)? else { return Ok(None) };
        // A record without a struct_ops map is of an attempt that has not come so far.
        if said.ops_map_id == 0 {
            return Ok(None);
        }
        let named = |wanted: &str| {
            own.iter()
                .filter_map(|&id| MapHandle::from_map_id(id).ok())
                .find(|map| map.name().to_string_lossy() == wanted)
        };
        let of = |suffix: &str| named(&format!("{}_{suffix}", algorithm.name()));
        let (Some(knobs), Some(counters), Some(events)) =
            (named(KNOBS), of("counters"), of("event"))
        else {
            return Ok(None);
        };
        if !in_use(said.ops_map_id) {
            return Ok(None); // detached; connections that still run keep the rest alive
        }
        let filled = |field: &[u8]| Some(text(field)).filter(|text| !text.is_empty());
        Ok(Some(Self {
            algorithm,
            name: text(&said.name),
            attached_at_s: said.attached_at_s,
            previous_default: filled(&said.previous_default),
            cgroup: filled(&said.cgroup).map(PathBuf::from),
            settings: Settings::from_lines(algorithm, &text(&said.settings))?,
            record,
            knobs,
            counters,
            events,
            ops_map_id: said.ops_map_id,
            cgroup_program_id: said.cgroup_program_id,
        }))
    }

    /// Changes parameters while connections run.
    ///
    /// # Errors
    /// A value is none; nothing is changed then.
    pub fn set(&mut self, assignments: &[String]) -> Result<()> {
        let mut changed = self.settings.clone();
        for assignment in assignments {
            changed.set(assignment)?;
        }
        changed.check()?;
        let mut knobs = changed.knobs()?;
        // The observer's field is the observer's.
        if let Some(now) = self.knobs.lookup(&FIRST, MapFlags::ANY)? {
            knobs[..8].copy_from_slice(&now[..8]);
        }
        let mut record = self.said()?;
        if !put(&mut record.settings, &changed.lines()) {
            fail!("set: more than 2047 characters of settings");
        }
        self.knobs.update(&FIRST, &knobs, MapFlags::ANY)?;
        self.record.update(&FIRST, record.bytes(), MapFlags::ANY)?;
        self.settings = changed;
        Ok(())
    }

    /// How often each connection tells observers of itself; zero is not at all.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn set_interval(&self, interval_ns: u64) -> Result<()> {
        let Some(mut knobs) = self.knobs.lookup(&FIRST, MapFlags::ANY)? else { return Ok(()) };
        knobs[..8].copy_from_slice(&interval_ns.to_ne_bytes());
        Ok(self.knobs.update(&FIRST, &knobs, MapFlags::ANY)?)
    }

    /// Counts of all CPUs since it was attached.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn counters(&self) -> Result<Counters> {
        let mut sum = counters::default();
        for of_cpu in self.counters.lookup_percpu(&FIRST, MapFlags::ANY)?.unwrap_or_default() {
            let Some(one) = counters::of(&of_cpu) else { continue };
            sum.opened += one.opened;
            sum.closed += one.closed;
            sum.samples += one.samples;
            sum.skipped += one.skipped;
            sum.losses += one.losses;
            sum.undone += one.undone;
        }
        Ok(sum)
    }

    /// Takes it away from new connections; those that run keep it until they end. The default is what it was.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn detach(self) -> Result<()> {
        if let Some(before) = &self.previous_default
            && system::default()? == self.name
        {
            system::set_default(before)?;
        }
        if self.cgroup_program_id != 0 {
            detach_cgroup(self.cgroup.as_deref(), self.cgroup_program_id);
        }
        let ops = MapHandle::from_map_id(self.ops_map_id)?;
        ops.delete(&FIRST)?;
        Ok(())
    }

    fn said(&self) -> Result<Record> {
        value(&self.record)?.ok_or_else(|| Error(format!("{}: its record is gone", self.name)))
    }
}

/// Whether a `struct_ops` map is registered: the second number of its value says so.
fn in_use(ops_map_id: u32) -> bool {
    const IN_USE: [u8; 4] = 1_u32.to_ne_bytes();
    let value = MapHandle::from_map_id(ops_map_id)
        .and_then(|map| map.lookup(&FIRST, MapFlags::ANY))
        .ok()
        .flatten();
    value.is_some_and(|bytes| bytes.get(4..8) == Some(&IN_USE))
}

fn value<T: Shared>(map: &MapHandle) -> Result<Option<T>> {
    Ok(map.lookup(&FIRST, MapFlags::ANY)?.and_then(|bytes| T::of(&bytes)))
}

fn put_known(field: &mut [u8; 16], text: &str) {
    let fits = put(field, text);
    debug_assert!(fits, "checked before");
}

fn check_name(name: &str) -> Result<()> {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    if name.is_empty() || name.len() > 15 || !name.bytes().all(good) {
        fail!("--name {name}: expected 1 to 15 letters, digits, dots, - or _");
    }
    if system::available()?.iter().any(|there| there == name) {
        fail!(
            "{name}: is attached already, or a module has this name; detach it, or choose another by --name"
        );
    }
    Ok(())
}

fn open_cgroup(path: &Path) -> Result<File> {
    let why = |what: &str| {
        Error(format!("--cgroup {}: {what}; expected a directory of cgroup v2", path.display()))
    };
    if !path.is_dir() {
        return Err(why(if path.exists() { "is no directory" } else { "does not exist" }));
    }
    if !path.join("cgroup.procs").exists() {
        return Err(why("is no cgroup"));
    }
    if !path.join("cgroup.controllers").exists() {
        return Err(why("is a cgroup of version 1"));
    }
    File::open(path).map_err(|error| why(&error.to_string()))
}

/// The default, the cgroup: what comes after the algorithm is there.
fn take_place(name: &str, place: &Place, group: Option<&File>) -> Result<()> {
    let attached = find(Some(name))?;
    let mut record = attached.said()?;
    if let Some(group) = group {
        record.cgroup_program_id = attach_cgroup(name, group)?;
        attached.record.update(&FIRST, record.bytes(), MapFlags::ANY)?;
    }
    if place.default {
        // Remembered before it is changed: whatever happens in between, detach restores it.
        put_known(&mut record.previous_default, &system::default()?);
        attached.record.update(&FIRST, record.bytes(), MapFlags::ANY)?;
        system::set_default(name)?;
    }
    Ok(())
}

/// Not by a link, which would end with this process: by the older way, which ends with the cgroup.
fn attach_cgroup(name: &str, group: &File) -> Result<u32> {
    let mut object = MaybeUninit::uninit();
    let mut open = cgroup::CgroupSkelBuilder::default().open(&mut object)?;
    let constants = open.maps.rodata_data.as_deref_mut();
    let field = constants.ok_or_else(|| Error("the cgroup program has no constants".to_owned()))?;
    for (to, from) in field.algorithm.iter_mut().zip(name.bytes()) {
        *to = i8::try_from(from).unwrap_or(0);
    }
    let skel = open.load()?;
    let program = &skel.progs.incast_cgroup;
    // SAFETY: two open files and constants.
    let done = unsafe {
        libbpf_sys::bpf_prog_attach(
            program.as_fd().as_raw_fd(),
            group.as_raw_fd(),
            libbpf_sys::BPF_CGROUP_SOCK_OPS,
            libbpf_sys::BPF_F_ALLOW_MULTI,
        )
    };
    if done != 0 {
        fail!("--cgroup: the kernel refused: {}", std::io::Error::from_raw_os_error(-done));
    }
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut size = u32::try_from(size_of_val(&info)).unwrap_or(0);
    // SAFETY: the structure and its size.
    let told = unsafe {
        libbpf_sys::bpf_obj_get_info_by_fd(
            program.as_fd().as_raw_fd(),
            (&raw mut info).cast(),
            &raw mut size,
        )
    };
    if told != 0 {
        fail!("--cgroup: the kernel refused: {}", std::io::Error::from_raw_os_error(-told));
    }
    Ok(info.id)
}

/// A cgroup that is gone has taken its program with it.
fn detach_cgroup(path: Option<&Path>, program_id: u32) {
    let Some(Ok(group)) = path.map(File::open) else { return };
    // SAFETY: a number; the file that it gives, if any, is owned from here.
    let program = unsafe {
        let fd = libbpf_sys::bpf_prog_get_fd_by_id(program_id);
        (fd >= 0).then(|| OwnedFd::from_raw_fd(fd))
    };
    if let Some(program) = program {
        // SAFETY: two open files and a constant.
        unsafe {
            libbpf_sys::bpf_prog_detach2(
                program.as_raw_fd(),
                group.as_raw_fd(),
                libbpf_sys::BPF_CGROUP_SOCK_OPS,
            );
        }
    }
}

/// The name in a program's table of functions.
fn rename(field: &mut [i8; 16], name: &str) {
    field.fill(0);
    for (to, from) in field.iter_mut().zip(name.bytes()) {
        *to = i8::try_from(from).unwrap_or(0);
    }
}

fn leave_out(map: &mut OpenMapMut<'_>) -> Result<()> {
    Ok(map.set_autocreate(false)?)
}

/// Fills in knobs and record of loaded programs, then registers them, to stay when this process ends.
macro_rules! register {
    ($skel:ident, $knobs:expr, $record:expr, $ops:ident, $record_map:ident) => {{
        $skel.maps.data_knobs.update(&FIRST, $knobs, MapFlags::ANY)?;
        $record.ops_map_id = $skel.maps.$ops.info()?.info.id;
        $skel.maps.$record_map.update(&FIRST, $record.bytes(), MapFlags::ANY)?;
        let mut link = $skel.maps.$ops.attach_struct_ops()?;
        link.disconnect();
    }};
}

type Object = MaybeUninit<OpenObject>;

fn attach_timely(object: &mut Object, name: &str, knobs: &[u8], record: &mut Record) -> Result<()> {
    let mut open = timely::TimelySkelBuilder::default().open(object)?;
    let signature = system::signature()?;
    if signature == Signature::New {
        rename(&mut open.struct_ops.timely_mut().name, name);
        leave_out(&mut open.maps.timely_old)?;
        open.progs.timely_cong_control_old.set_autoload(false);
    } else {
        rename(&mut open.struct_ops.timely_old_mut().name, name);
        leave_out(&mut open.maps.timely)?;
        open.progs.timely_cong_control.set_autoload(false);
    }
    let mut skel = open.load()?;
    match signature {
        Signature::New => register!(skel, knobs, record, timely, timely_record),
        Signature::Old => register!(skel, knobs, record, timely_old, timely_record),
    }
    Ok(())
}

fn attach_rtcp(object: &mut Object, name: &str, knobs: &[u8], record: &mut Record) -> Result<()> {
    let mut open = rtcp::RtcpSkelBuilder::default().open(object)?;
    rename(&mut open.struct_ops.rtcp_mut().name, name);
    let mut skel = open.load()?;
    register!(skel, knobs, record, rtcp, rtcp_record);
    Ok(())
}

fn attach_dctcp(object: &mut Object, name: &str, knobs: &[u8], record: &mut Record) -> Result<()> {
    let mut open = dctcp::DctcpSkelBuilder::default().open(object)?;
    rename(&mut open.struct_ops.dctcp_mut().name, name);
    let mut skel = open.load()?;
    register!(skel, knobs, record, dctcp, dctcp_record);
    Ok(())
}
