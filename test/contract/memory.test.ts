/** The ports in memory fulfil the contracts of all ports. */
import { between, iso } from '../../lib/engine/time.ts';
import { memoryPorts } from '../../lib/memory/memory-ports.ts';
import { MemoryClock } from '../../lib/memory/clock.ts';
import { MemoryWorkQueue } from '../../lib/memory/work-queue.ts';
import { MemoryExternalRuns } from '../../lib/memory/external-runs.ts';
import { MemoryPosts, MemorySockets, MemoryWatches } from '../../lib/memory/sockets.ts';
import { MemoryStoredSettings } from '../../lib/memory/stored-settings.ts';
import { artifactsSuite } from './artifacts.suite.ts';
import { blobsSuite } from './blobs.suite.ts';
import { uploadsSuite } from './uploads.suite.ts';
import { clockSuite } from './clock.suite.ts';
import { controlSuite } from './control.suite.ts';
import { deletableNamesSuite } from './deletable-names.suite.ts';
import { deletionsSuite } from './deletions.suite.ts';
import { draftsSuite } from './drafts.suite.ts';
import { deploymentsSuite } from './deployments.suite.ts';
import { idsSuite } from './ids.suite.ts';
import { jobsSuite } from './jobs.suite.ts';
import { noticesSuite } from './notices.suite.ts';
import { externalRunsSuite } from './external-runs.suite.ts';
import { runIndexSuite } from './run-index.suite.ts';
import { runLogSuite } from './run-log.suite.ts';
import { noon } from './samples.ts';
import { recurrencesSuite } from './recurrences.suite.ts';
import { schedulesSuite } from './schedules.suite.ts';
import { concurrencySlotsSuite } from './concurrency-slots.suite.ts';
import { memoryDevKit } from '../../lib/memory/devkit.ts';
import { devKitSuite } from './devkit.suite.ts';
import { signalsSuite } from './signals.suite.ts';
import { postsSuite } from './posts.suite.ts';
import { socketsSuite } from './sockets.suite.ts';
import { storedSettingsSuite } from './stored-settings.suite.ts';
import { streamsSuite } from './streams.suite.ts';
import { readerLeasesSuite } from './reader-leases.suite.ts';
import { embedsSuite } from './embeds.suite.ts';
import { sessionsSuite } from './sessions.suite.ts';
import { ticketsSuite } from './tickets.suite.ts';
import { watchesSuite } from './watches.suite.ts';
import { timersSuite } from './timers.suite.ts';
import { lenses, queries, workflows } from './published.ts';
import { versionsSuite } from './versions.suite.ts';
import { workQueueSuite } from './work-queue.suite.ts';

const name = 'memory';
const open =
  <Port>(port: (ports: ReturnType<typeof memoryPorts>) => Port) =>
  async () => ({ port: port(memoryPorts({ startAt: noon })), close: async () => {} });

runLogSuite({ name, open: open(({ log }) => log) });
runIndexSuite({ name, open: open(({ log, index, externalLogs }) => ({ log, index, externalRuns: externalLogs })) });
versionsSuite(workflows, { name, open: open((ports) => ports.workflows) });
deletableNamesSuite({ name, open: open((ports) => ports.workflows) });
deletionsSuite({ name, open: open(({ deletions }) => deletions) });
draftsSuite({ name, open: open(({ drafts }) => drafts) });
versionsSuite(lenses, { name, open: open((ports) => ports.lenses) });
versionsSuite(queries, { name, open: open((ports) => ports.queries) });
controlSuite({
  name,
  open: open(({ audit, ...ports }) => ({
    ...ports,
    audit,
    audited: async (scope) =>
      [...audit.entries.values()].filter((entry) => JSON.stringify(entry.scope) === JSON.stringify(scope)).length,
  })),
});
deploymentsSuite({ name, open: open(({ deployments }) => deployments) });
schedulesSuite({ name, open: open(({ schedules }) => schedules) });
recurrencesSuite({ name, open: open(({ recurrences }) => ({ recurrences, pending: async () => recurrences.registrations() })) });
concurrencySlotsSuite({ name, open: open(({ concurrencySlots }) => concurrencySlots) });
signalsSuite({ name, open: open(({ signals }) => signals) });
devKitSuite({ name, open: async () => ({ port: memoryDevKit(), close: async () => {} }) });
streamsSuite({ name, open: open(({ streams }) => streams) });
externalRunsSuite({ name, open: async () => ({ port: new MemoryExternalRuns(), close: async () => {} }) });
socketsSuite({ name, open: async () => ({ port: new MemorySockets(), close: async () => {} }) });
storedSettingsSuite({ name, open: async () => ({ port: new MemoryStoredSettings(), close: async () => {} }) });
postsSuite({
  name,
  open: async () => {
    const posts = new MemoryPosts();
    return {
      port: { posts, taken: () => posts.posted, disconnect: (id) => posts.disconnect(id), block: (id) => posts.block(id) },
      close: async () => {},
    };
  },
});
watchesSuite({
  name,
  open: async () => {
    const watches = new MemoryWatches();
    return {
      port: { watches, taken: async () => watches.sent.splice(0), hopsOf: (watch) => watches.hopsOf(watch) },
      close: async () => {},
    };
  },
});
ticketsSuite({ name, open: open(({ tickets }) => tickets) });
embedsSuite({ name, open: open(({ embeds }) => embeds) });
sessionsSuite({ name, open: open(({ sessions }) => sessions) });
readerLeasesSuite({ name, open: open(({ readerLeases }) => readerLeases) });
artifactsSuite({
  name,
  open: open(({ artifacts }) => ({
    artifacts,
    upload: async ({ url }, content) => artifacts.receive(url, content),
  })),
});
jobsSuite({
  name,
  open: open(({ jobs }) => ({
    jobs,
    takeSent: async () => jobs.takeSent(),
    takeTogether: async () => jobs.takeTogether(),
    takeForCode: async () => jobs.takeMessages(),
    delayed: async () => jobs.delayed.map(({ job, dueAt }) => ({ job, delaySeconds: between(noon, dueAt) / 1_000 })),
    takeResults: async () => jobs.takeResults(),
    hopsOf: (message) => jobs.hopsOf(message),
  })),
});
timersSuite({
  name,
  open: open(({ timers }) => ({ timers, pending: async () => timers.pending().map(({ at, job }) => ({ at, job })) })),
});
blobsSuite({ name, open: open(({ blobs }) => blobs) });
uploadsSuite({
  name,
  now: () => noon,
  open: open(({ blobs, uploads }) => ({
    blobs,
    uploads,
    send: async ({ url }, content) => uploads.receive(url, content),
    fetch: async (url) => uploads.download(url),
  })),
});
noticesSuite({
  name,
  open: open(({ notices }) => ({
    notices,
    received: async () => [
      ...notices.statusNotices.map(({ run, startedAt, endedAt, ...notice }) => ({
        ...run,
        ...notice,
        startedAt: iso(startedAt),
        ...(endedAt !== undefined && { endedAt: iso(endedAt) }),
      })),
      ...notices.activations.map(({ scope, activatedAt, ...notice }) => ({ ...scope, ...notice, activatedAt: iso(activatedAt) })),
      ...notices.deploymentChanges.map(({ scope, changedAt, ...notice }) => ({ ...scope, ...notice, changedAt: iso(changedAt) })),
      ...notices.scheduleFailures.map(({ scope, scheduledAt, failedAt, ...notice }) => ({
        ...scope,
        ...notice,
        scheduledAt: iso(scheduledAt),
        failedAt: iso(failedAt),
      })),
    ],
  })),
});
clockSuite({ name, open: open(({ clock }) => ({ clock, advance: async (time) => clock.advance(time) })) });
workQueueSuite({
  name,
  open: async () => {
    const clock = new MemoryClock(noon);
    const queue = new MemoryWorkQueue(clock);
    const send = async (...message: Parameters<MemoryWorkQueue['send']>): Promise<void> => queue.send(...message);
    return { port: { queue, send, advance: async (time) => clock.advance(time) }, close: async () => {} };
  },
});
idsSuite({ name, ids: memoryPorts().ids });
