/** All ports in memory, over shared state, with a virtual clock and ids from a seed. */
import { type Instant, instant } from '../engine/time.ts';
import type { Ports } from '../ports/ports.ts';
import { MemoryArtifacts, MemoryDeployments } from './deployments.ts';
import { MemoryAudit, MemoryRateWindows, MemoryReservations, MemoryKeys } from './control.ts';
import { MemoryBlobs } from './run-records.ts';
import { MemoryClock } from './clock.ts';
import { MemoryDeletions } from './deletions.ts';
import { MemoryIds, MemoryMetrics, MemoryNotices } from './system.ts';
import { MemoryJobs, MemoryTimers } from './jobs.ts';
import { MemoryConcurrencySlots, MemorySignals } from './coordination.ts';
import { MemoryRecurrences, MemorySchedules } from './schedules.ts';
import { MemoryRunIndex } from './run-index.ts';
import { MemoryRunLog } from './run-log.ts';
import { MemoryRuns } from './runs.ts';
import { MemoryStreams, MemoryReaderLeases, MemoryTickets } from './watching.ts';
import { memoryLenses, memoryQueries, memoryWorkflows } from './versions.ts';

export interface MemoryPorts extends Ports {
  readonly clock: MemoryClock;
  readonly ids: MemoryIds;
  readonly jobs: MemoryJobs;
  readonly timers: MemoryTimers;
  readonly recurrences: MemoryRecurrences;
  readonly notices: MemoryNotices;
  readonly metrics: MemoryMetrics;
  readonly audit: MemoryAudit;
  readonly artifacts: MemoryArtifacts;
}

/** 2026-01-01T00:00:00Z */
const defaultStart: Instant = instant(1_767_225_600_000);

export const memoryPorts = ({ seed = 1, startAt = defaultStart }: { seed?: number; startAt?: Instant } = {}): MemoryPorts => {
  const clock = new MemoryClock(startAt);
  const runs = new MemoryRuns();
  return {
    clock,
    ids: new MemoryIds(seed),
    log: new MemoryRunLog(runs),
    index: new MemoryRunIndex(runs),
    jobs: new MemoryJobs(clock),
    timers: new MemoryTimers(clock),
    schedules: new MemorySchedules(),
    recurrences: new MemoryRecurrences(clock),
    blobs: new MemoryBlobs(),
    notices: new MemoryNotices(),
    metrics: new MemoryMetrics(),
    workflows: memoryWorkflows(),
    keys: new MemoryKeys(),
    reservations: new MemoryReservations(),
    audit: new MemoryAudit(),
    rates: new MemoryRateWindows(),
    deletions: new MemoryDeletions(),
    deployments: new MemoryDeployments(),
    artifacts: new MemoryArtifacts(),
    signals: new MemorySignals(),
    streams: new MemoryStreams(),
    tickets: new MemoryTickets(),
    readerLeases: new MemoryReaderLeases(),
    concurrencySlots: new MemoryConcurrencySlots(),
    queries: memoryQueries(),
    lenses: memoryLenses(),
  };
};
