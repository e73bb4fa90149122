/** All ports in one type. A use case in `lib/service` takes only the ports that it needs. */
import type { Artifacts, Deployments } from './deployments.ts';
import type { Blobs } from './run-records.ts';
import type { Clock } from './clock.ts';
import type { Audit, Keys, RateWindows, Reservations } from './control.ts';
import type { Deletions } from './deletions.ts';
import type { Ids, Metrics } from './system.ts';
import type { Jobs, Timers } from './jobs.ts';
import type { Notices } from './notices.ts';
import type { ConcurrencySlots, Signals } from './coordination.ts';
import type { Recurrences, Schedules } from './schedules.ts';
import type { RunIndex } from './run-index.ts';
import type { RunLog } from './run-log.ts';
import type { ReaderLeases, Streams, Tickets } from './watching.ts';
import type { Lenses, Queries, Workflows } from './versions.ts';

export interface Ports {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: RunLog;
  readonly index: RunIndex;
  readonly jobs: Jobs;
  readonly timers: Timers;
  readonly schedules: Schedules;
  readonly recurrences: Recurrences;
  readonly blobs: Blobs;
  readonly notices: Notices;
  readonly metrics: Metrics;
  readonly workflows: Workflows;
  readonly keys: Keys;
  readonly reservations: Reservations;
  readonly audit: Audit;
  readonly rates: RateWindows;
  readonly deletions: Deletions;
  readonly deployments: Deployments;
  readonly artifacts: Artifacts;
  readonly signals: Signals;
  readonly streams: Streams;
  readonly tickets: Tickets;
  readonly readerLeases: ReaderLeases;
  readonly concurrencySlots: ConcurrencySlots;
  readonly queries: Queries;
  readonly lenses: Lenses;
}
