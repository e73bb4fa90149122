/** Lifecycle events on an EventBridge bus of the account. */
import { type EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import type * as z from 'zod';
import { deploymentActivated, deploymentStatusChange, runStatusChange, scheduleFailure } from '../codec/bus-events.ts';
import type { Scope } from '../engine/ids.ts';
import type { RunEvents } from '../engine/run-events.ts';
import { type Instant, iso } from '../engine/time.ts';
import type {
  DeploymentChangeNotice,
  DeploymentNotice,
  Notices,
  RunStatusNotice,
  ScheduleFailureNotice,
} from '../ports/notices.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { callService } from './call-service.ts';
import { eventBusClient } from './clients.ts';
import type { Settings } from './environment.ts';

interface BusEvent<Detail extends z.ZodType> {
  readonly source: string;
  readonly detailType: string;
  readonly detail: Detail;
}

export class EventBridgeNotices implements Notices {
  readonly #client: EventBridgeClient;
  readonly #busName: string;
  readonly runEvents: RunEvents;

  constructor(client: EventBridgeClient, busName: string, runEvents: RunEvents) {
    this.runEvents = runEvents;
    this.#client = client;
    this.#busName = busName;
  }

  async runStatusChanged(notice: RunStatusNotice): Promise<void> {
    await this.#publish(runStatusChange, notice.endedAt ?? notice.startedAt, detailOf(notice));
  }

  async deploymentActivated({ scope, activatedAt, ...notice }: DeploymentNotice): Promise<void> {
    await this.#publish(deploymentActivated, activatedAt, { ...scopeOf(scope), ...notice, activatedAt: iso(activatedAt) });
  }

  async deploymentChanged({ scope, changedAt, ...notice }: DeploymentChangeNotice): Promise<void> {
    await this.#publish(deploymentStatusChange, changedAt, { ...scopeOf(scope), ...notice, changedAt: iso(changedAt) });
  }

  async scheduleFailed({ scope, scheduledAt, failedAt, ...notice }: ScheduleFailureNotice): Promise<void> {
    const detail = { ...scopeOf(scope), ...notice, scheduledAt: iso(scheduledAt), failedAt: iso(failedAt) };
    await this.#publish(scheduleFailure, failedAt, detail);
  }

  async #publish<Detail extends z.ZodType>(event: BusEvent<Detail>, at: Instant, detail: z.input<Detail>): Promise<void> {
    const entry = {
      EventBusName: this.#busName,
      Source: event.source,
      DetailType: event.detailType,
      Time: new Date(at),
      Detail: JSON.stringify(detail),
    };
    const response = await callService('the event bus', () => this.#client.send(new PutEventsCommand({ Entries: [entry] })));
    // EventBridge responds with 200 and counts the entries that failed.
    if ((response.FailedEntryCount ?? 0) > 0) throw new Unavailable('the event bus', { cause: response.Entries });
  }
}

/** Drops other members of the object: the event has only these. */
const scopeOf = ({ projectId, environment }: Scope): Scope => ({ projectId, environment });

const detailOf = ({ run, startedAt, endedAt, workflow, ...notice }: RunStatusNotice): z.input<typeof runStatusChange.detail> => ({
  ...scopeOf(run),
  runId: run.runId,
  ...notice,
  workflow: { name: workflow.name, ...versionOf(workflow) },
  startedAt: iso(startedAt),
  ...(endedAt !== undefined && { endedAt: iso(endedAt) }),
});

/** The version of a graph is a number; the version of code is a string. */
const versionOf = (workflow: RunStatusNotice['workflow']) => {
  const version = 'version' in workflow ? workflow.version : undefined;
  return typeof version === 'number' ? { version } : typeof version === 'string' ? { codeVersion: version } : {};
};

export const noticesOf = ({ eventBusName, runEvents }: Settings): Notices =>
  new EventBridgeNotices(eventBusClient(), eventBusName, runEvents);
