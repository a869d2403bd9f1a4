//! Attaching algorithms, and finding attached ones of any process by the records that live with the
//! programs.

use std::fs::File;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use libbpf_rs::query::{MapInfoIter, ProgInfoIter, ProgInfoQueryOptions};
use libbpf_rs::{MapCore as _, MapFlags, MapHandle, MapType};

use crate::algorithm::{Algorithm, Settings};
pub use crate::cgroup::CgroupState;
pub use crate::shared::Counters;
use crate::shared::{FIRST, Record, Shared, put, text};
use crate::{Error, Result, cgroup, system};

/// The section of a program's knobs, which is also the name of their map.
pub(crate) const KNOBS: &str = ".data.knobs";

/// The sockets that are to use an algorithm.
#[derive(Clone, Debug, Default)]
pub struct Sockets {
    /// The name for sockets, of 1 to 15 characters; `bpf_` and the algorithm's own if absent.
    pub name: Option<String>,
    /// A cgroup, all of whose TCP connections use the algorithm.
    pub cgroup: Option<PathBuf>,
    /// Whether all sockets that choose no other algorithm use it.
    pub default: bool,
}

/// An algorithm that is attached.
#[derive(Debug)]
pub struct Attached {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The name for sockets.
    pub name: String,
    /// The time of attaching, in seconds of Unix time.
    pub attached_at_s: u64,
    /// The default before, if this algorithm was made the default.
    pub previous_default: Option<String>,
    /// The cgroup whose connections use the algorithm.
    pub cgroup: Option<PathBuf>,
    /// The parameters.
    pub settings: Settings,
    record: MapHandle,
    knobs: MapHandle,
    counters: MapHandle,
    pub(crate) events: MapHandle,
    ops_map_id: u32,
    cgroup_program_id: u32,
    cgroup_id: u64,
}

/// Attaches an algorithm, and returns its name for sockets. After an error nothing is left of it.
///
/// # Errors
/// The machine lacks something, the name is taken or invalid, the cgroup is none, or the kernel
/// refuses.
pub fn attach(settings: &Settings, place: &Sockets) -> Result<String> {
    settings.check()?;
    system::check()?;
    let algorithm = settings.algorithm();
    let name = place.name.clone().unwrap_or_else(|| format!("bpf_{}", algorithm.name()));
    check_name(&name)?;
    let group = place.cgroup.as_deref().map(cgroup::open).transpose()?;
    let mut record = Record {
        attached_at_s: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs()),
        ..Record::default()
    };
    if !put(&mut record.settings, &settings.lines()) {
        return Err(Error::SettingsTooLong("--set"));
    }
    put_known(&mut record.algorithm, algorithm.name());
    put_known(&mut record.name, &name);
    if let Some(group) = &group {
        record.cgroup_id = cgroup::id(group).map_err(Error::CgroupRefused)?;
    }
    if let Some(path) = &place.cgroup
        && !put(&mut record.cgroup, &path.to_string_lossy())
    {
        return Err(Error::PathTooLong(path.clone()));
    }
    let knobs = settings.knobs()?;
    algorithm.0.register(&name, &knobs, &mut record)?;
    if let Err(error) = take_place(&name, place, group.as_ref()) {
        let attached = find(Some(&name))?;
        attached.detach()?;
        return Err(error);
    }
    Ok(name)
}

/// All algorithms that incast has attached, by any process, in the order of their names.
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
        let own = |algorithm: &Algorithm| map_name(*algorithm, "record") == name;
        let Some(algorithm) = Algorithm::ALL.into_iter().find(own) else { continue };
        // The map may have gone since it was listed.
        let Ok(handle) = MapHandle::from_map_id(map.id) else { continue };
        // Only one of the programs uses the record; the others share their maps with it.
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

/// The attached algorithm of this name (for sockets, or of the algorithm), or the only one.
///
/// # Errors
/// None is attached under this name, or several are and no name is given.
pub fn find(name: Option<&str>) -> Result<Attached> {
    let mut there = all()?;
    let names = there.iter().map(|one| one.name.clone()).collect::<Vec<_>>().join(", ");
    match name {
        Some(name) if there.is_empty() => Err(Error::NotAttachedAlone(name.to_owned())),
        None if there.is_empty() => Err(Error::NothingAttached),
        Some(name) => there
            .into_iter()
            .find(|one| one.name == name || one.algorithm.name() == name)
            .ok_or_else(|| Error::NotAttached { name: name.to_owned(), attached: names }),
        None if there.len() == 1 => Ok(there.remove(0)),
        None => Err(Error::SeveralAttached(names)),
    }
}

impl Attached {
    fn read(algorithm: Algorithm, record: MapHandle, own: &[u32]) -> Result<Option<Self>> {
        let Some(said) = value::<Record>(&record)? else { return Ok(None) };
        // A failed attempt leaves a record without a struct_ops map.
        if said.ops_map_id == 0 {
            return Ok(None);
        }
        let named = |wanted: &str| {
            own.iter()
                .filter_map(|&id| MapHandle::from_map_id(id).ok())
                .find(|map| map.name().to_string_lossy() == wanted)
        };
        let of = |suffix: &str| named(&map_name(algorithm, suffix));
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
            cgroup_id: said.cgroup_id,
        }))
    }

    /// The state of the cgroup now; `None` without one, or where an earlier version attached the
    /// algorithm, which remembered no id.
    #[must_use]
    pub fn cgroup_state(&self) -> Option<CgroupState> {
        let path = self.cgroup.as_deref().filter(|_| self.cgroup_id != 0)?;
        Some(CgroupState::of(path, self.cgroup_id))
    }

    /// Changes parameters while connections run.
    ///
    /// # Errors
    /// A value is refused. Nothing is changed then.
    pub fn set(&mut self, assignments: &[String]) -> Result<()> {
        let mut changed = self.settings.clone();
        for assignment in assignments {
            changed.set(assignment)?;
        }
        changed.check()?;
        let mut knobs = changed.knobs()?;
        // The observer sets its field, and nobody else does.
        if let Some(now) = self.knobs.lookup(&FIRST, MapFlags::ANY)? {
            knobs[..8].copy_from_slice(&now[..8]);
        }
        let mut record = self.said()?;
        if !put(&mut record.settings, &changed.lines()) {
            return Err(Error::SettingsTooLong("set"));
        }
        self.knobs.update(&FIRST, &knobs, MapFlags::ANY)?;
        self.record.update(&FIRST, record.bytes(), MapFlags::ANY)?;
        self.settings = changed;
        Ok(())
    }

    /// Sets the least time between two reports of a connection to observers; zero for no reports.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn set_interval(&self, interval_ns: u64) -> Result<()> {
        let Some(mut knobs) = self.knobs.lookup(&FIRST, MapFlags::ANY)? else { return Ok(()) };
        knobs[..8].copy_from_slice(&interval_ns.to_ne_bytes());
        Ok(self.knobs.update(&FIRST, &knobs, MapFlags::ANY)?)
    }

    /// The sum of the counters of all CPUs.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn counters(&self) -> Result<Counters> {
        let mut sum = Counters::default();
        for of_cpu in self.counters.lookup_percpu(&FIRST, MapFlags::ANY)?.unwrap_or_default() {
            let Some(one) = Counters::of(&of_cpu) else { continue };
            sum.opened += one.opened;
            sum.closed += one.closed;
            sum.samples += one.samples;
            sum.skipped += one.skipped;
            sum.losses += one.losses;
            sum.undone += one.undone;
        }
        Ok(sum)
    }

    /// Detaches the algorithm. Connections that run keep it until they end. The default is again
    /// the one before.
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
            cgroup::detach(self.cgroup.as_deref(), self.cgroup_program_id);
        }
        let ops = MapHandle::from_map_id(self.ops_map_id)?;
        ops.delete(&FIRST)?;
        Ok(())
    }

    fn said(&self) -> Result<Record> {
        value(&self.record)?.ok_or_else(|| Error::RecordGone(self.name.clone()))
    }
}

/// The name of a program's map, of which the kernel keeps 15 characters.
fn map_name(algorithm: Algorithm, suffix: &str) -> String {
    let mut name = format!("{}_{suffix}", algorithm.name());
    name.truncate(15);
    name
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
        return Err(Error::InvalidName(name.to_owned()));
    }
    if system::available()?.iter().any(|there| there == name) {
        return Err(Error::NameTaken(name.to_owned()));
    }
    Ok(())
}

/// Makes the attached algorithm the default, or the algorithm of a cgroup.
fn take_place(name: &str, place: &Sockets, group: Option<&File>) -> Result<()> {
    let attached = find(Some(name))?;
    let mut record = attached.said()?;
    if let Some(group) = group {
        record.cgroup_program_id = cgroup::attach(name, group)?;
        attached.record.update(&FIRST, record.bytes(), MapFlags::ANY)?;
    }
    if place.default {
        // The default is remembered before it is changed: whatever happens in between, `detach`
        // restores it.
        put_known(&mut record.previous_default, &system::default()?);
        attached.record.update(&FIRST, record.bytes(), MapFlags::ANY)?;
        system::set_default(name)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn maps_are_told_apart_by_the_part_of_their_names_that_the_kernel_keeps() {
        let suffixes = ["record", "counters", "event"];
        let names: BTreeSet<_> = Algorithm::ALL
            .into_iter()
            .flat_map(|algorithm| suffixes.map(|suffix| map_name(algorithm, suffix)))
            .collect();
        assert_eq!(names.len(), Algorithm::ALL.len() * suffixes.len(), "{names:?}");
        assert!(names.iter().all(|name| name.len() <= 15), "{names:?}");
    }
}
