/** Reads the history of a test's run, as `stepwell runs export-test` would write it. */
import { type HistoryDocument, historyDocument } from '../engine/durable/history-document.ts';
import type { RunAddress } from '../engine/ids.ts';
import { invariant } from '../engine/invariant.ts';
import type { JsonValue, Payload } from '../engine/json.ts';
import { latestDeadlineOf } from '../engine/log/head.ts';
import { publicEvents } from '../engine/log/public-event.ts';
import { iso } from '../engine/time.ts';
import { firstCommit } from '../engine/ids.ts';
import type { Deps } from '../service/deps.ts';
import { runKinds } from '../service/kinds/run-kinds.ts';
import { kindOf } from '../service/decider.ts';
import { loadPayload } from '../service/run-log/payloads.ts';

export async function readRunHistory(deps: Pick<Deps, 'blobs' | 'clock' | 'log'>, address: RunAddress): Promise<HistoryDocument> {
  const head = await deps.log.head(address);
  invariant(head !== undefined, `run ${address.runId} does not exist`);
  const commits = [head.commit, ...(await deps.log.commitsAfter(address, firstCommit))];
  const values = new Map<string, JsonValue>();
  for (const event of commits.flatMap(({ events }) => events)) {
    const payload: Payload | undefined = 'output' in event ? event.output : 'input' in event ? event.input : undefined;
    if (payload !== undefined && 'ref' in payload) values.set(payload.ref, await loadPayload(deps, address, payload.ref));
  }
  const run = {
    id: address.runId,
    workflowName: head.workflow.name,
    version: kindOf({ kinds: runKinds }, head).versionsOf(head).version ?? null,
    createdAt: iso(head.createdAt),
    deadlineAt: iso(latestDeadlineOf(head)),
  };
  return historyDocument(
    run,
    commits.flatMap((commit) => publicEvents(head, commit)),
    (_location, ref) => {
      const value = values.get(ref);
      invariant(value !== undefined, `the stored value ${ref} was not loaded`);
      return value;
    },
  );
}
