/** Lifecycle events on an EventBridge bus, for whoever in the account listens. */
import { type EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { iso } from '../engine/time.ts';
import type { Notices, RunStatusNotice } from '../ports/notices.ts';
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
    const command = new PutEventsCommand({
      Entries: [
        {
          EventBusName: this.#busName,
          Source: 'stepwell.runs',
          DetailType: 'Run Status Change',
          Time: new Date(notice.endedAt ?? notice.startedAt),
          Detail: JSON.stringify(detailOf(notice)),
        },
      ],
    });
    const answer = await reach('the event bus', () => this.#client.send(command));
    // The bus answers 200 and counts what it did not take.
    if ((answer.FailedEntryCount ?? 0) > 0) throw new Unavailable('the event bus', { cause: answer.Entries });
  }
}

const detailOf = (notice: RunStatusNotice) => ({
  ...notice.run,
  workflow: notice.workflow,
  status: notice.status,
  startedAt: iso(notice.startedAt),
  ...(notice.endedAt !== undefined && { endedAt: iso(notice.endedAt) }),
});
