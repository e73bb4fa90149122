/** Lifecycle events on an EventBridge bus, for whoever in the account listens. */
import { type EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { type Instant, iso } from '../engine/time.ts';
import type { DeploymentNotice, Notices, RunStatusNotice, ScheduleFailureNotice } from '../ports/notices.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { reach } from './reach.ts';

export class EventBridgeNotices implements Notices {
  readonly #client: EventBridgeClient;
  readonly #busName: string;

  constructor(client: EventBridgeClient, busName: string) {
    this.#client = client;
    this.#busName = busName;
  }

  async runStatusChanged(notice: RunStatusNotice): Promise<void> {
    const at = notice.endedAt ?? notice.startedAt;
    await this.#tell({ source: 'stepwell.runs', type: 'Run Status Change', at, detail: detailOf(notice) });
  }

  async deploymentActivated({ scope, activatedAt, ...notice }: DeploymentNotice): Promise<void> {
    const detail = { ...scope, ...notice, activatedAt: iso(activatedAt) };
    await this.#tell({ source: 'stepwell.deployments', type: 'Deployment Activated', at: activatedAt, detail });
  }

  async scheduleFailed({ scope, scheduledAt, failedAt, ...notice }: ScheduleFailureNotice): Promise<void> {
    const detail = { ...scope, ...notice, scheduledAt: iso(scheduledAt), failedAt: iso(failedAt) };
    await this.#tell({ source: 'stepwell.schedules', type: 'Schedule Failure', at: failedAt, detail });
  }

  async #tell({ source, type, at, detail }: { source: string; type: string; at: Instant; detail: object }): Promise<void> {
    const entry = {
      EventBusName: this.#busName,
      Source: source,
      DetailType: type,
      Time: new Date(at),
      Detail: JSON.stringify(detail),
    };
    const answer = await reach('the event bus', () => this.#client.send(new PutEventsCommand({ Entries: [entry] })));
    // The bus answers 200 and counts what it did not take.
    if ((answer.FailedEntryCount ?? 0) > 0) throw new Unavailable('the event bus', { cause: answer.Entries });
  }
}

const detailOf = (notice: RunStatusNotice) => ({
  ...notice.run,
  workflow: notice.workflow,
  status: notice.status,
  ...(notice.scheduleId !== undefined && { scheduleId: notice.scheduleId }),
  ...(notice.correlationId !== undefined && { correlationId: notice.correlationId }),
  startedAt: iso(notice.startedAt),
  ...(notice.endedAt !== undefined && { endedAt: iso(notice.endedAt) }),
});
