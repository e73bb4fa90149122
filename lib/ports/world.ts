/** All that the product asks of the world, in one name. A sentence of `lib/service` takes the few it needs. */
import type { Artifacts } from './artifacts.ts';
import type { Blobs } from './blobs.ts';
import type { Clock } from './clock.ts';
import type { Audit, Keys, RateWindows, Reservations } from './control.ts';
import type { Deployments } from './deployments.ts';
import type { Ids } from './ids.ts';
import type { Jobs } from './jobs.ts';
import type { Metrics } from './metrics.ts';
import type { Notices } from './notices.ts';
import type { Places } from './places.ts';
import type { Recurrences } from './recurrences.ts';
import type { RunIndex } from './run-index.ts';
import type { RunLog } from './run-log.ts';
import type { Schedules } from './schedules.ts';
import type { Seats } from './seats.ts';
import type { Signals } from './signals.ts';
import type { Streams } from './streams.ts';
import type { Tickets } from './tickets.ts';
import type { Timers } from './timers.ts';
import type { Lenses, Queries, Workflows } from './versions.ts';

export interface World {
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
  readonly deployments: Deployments;
  readonly artifacts: Artifacts;
  readonly signals: Signals;
  readonly streams: Streams;
  readonly tickets: Tickets;
  readonly seats: Seats;
  readonly places: Places;
  readonly queries: Queries;
  readonly lenses: Lenses;
}
