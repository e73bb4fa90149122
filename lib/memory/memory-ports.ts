/** All ports in memory, over shared state, with a virtual clock and ids from a seed. */
import { type Instant, instant } from '../engine/time.ts';
import type { RunAddress } from '../engine/ids.ts';
import type { Ports } from '../ports/ports.ts';
import type { StoredExpiry } from './runs.ts';
import type { MemoryClock } from './clock.ts';
import { type MemoryAudit, memoryControl } from './control.ts';
import { memoryCoordination } from './coordination.ts';
import { type MemoryArtifacts, memoryDeployments } from './deployments.ts';
import type { MemoryExternalRuns } from './external-runs.ts';
import { type MemoryJobs, type MemoryTimers, memoryMessaging } from './jobs.ts';
import { type MemoryBlobs, memoryRunRecords } from './run-records.ts';
import { type MemoryRecurrences, memorySchedules } from './schedules.ts';
import { type MemoryIds, type MemoryMetrics, type MemoryNotices, memorySystem } from './system.ts';
import { memoryDefinitions } from './versions.ts';
import { memoryWatching } from './watching.ts';

export interface MemoryPorts extends Ports {
  readonly clock: MemoryClock;
  readonly ids: MemoryIds;
  readonly jobs: MemoryJobs;
  readonly timers: MemoryTimers;
  readonly recurrences: MemoryRecurrences;
  readonly notices: MemoryNotices;
  readonly metrics: MemoryMetrics;
  readonly externalLogs: MemoryExternalRuns;
  readonly audit: MemoryAudit;
  readonly artifacts: MemoryArtifacts;
  readonly blobs: MemoryBlobs;
  readonly uploads: MemoryBlobs;
  /** What is stored of a run, under these prefixes of large values too. */
  readonly expiriesOf: (run: RunAddress, prefixes: readonly string[]) => readonly StoredExpiry[];
  /** Deletes expired items, values, signals, slots and pins of runs. DynamoDB and S3 do so some time after their expiry. */
  readonly deleteExpired: (now: Instant) => void;
  /** Only signals, slots and pins. */
  readonly deleteExpiredBesideRuns: (now: Instant) => void;
}

/** 2026-01-01T00:00:00Z */
const defaultStart: Instant = instant(1_767_225_600_000);

export const memoryPorts = ({ seed = 1, startAt = defaultStart }: { seed?: number; startAt?: Instant } = {}): MemoryPorts => {
  const system = memorySystem(seed, startAt);
  const { deleteExpiredRecords, ...records } = memoryRunRecords();
  const coordination = memoryCoordination();
  const deployed = memoryDeployments();
  const deleteExpiredBesideRuns = (now: Instant): void => {
    coordination.signals.deleteExpired(now);
    coordination.concurrencySlots.deleteExpired(now);
    deployed.deployments.deleteExpired(now);
  };
  return {
    ...system,
    ...records,
    ...memoryMessaging(system.clock),
    ...coordination,
    deleteExpired: (now) => {
      deleteExpiredRecords(now);
      deleteExpiredBesideRuns(now);
    },
    deleteExpiredBesideRuns,
    ...memorySchedules(system.clock),
    ...memoryDefinitions(),
    ...deployed,
    ...memoryControl(),
    ...memoryWatching(),
  };
};
