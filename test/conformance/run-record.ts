/** The record of a run of a topology: its public events, its end, and its attempts. */
import type { JsonObject, JsonValue } from '../../lib/engine/json.ts';
import type { PublicEvent } from '../../lib/engine/log/public-event.ts';

export interface RecordedAttempt {
  readonly runId: string;
  readonly node: string;
  /** of the loops around it; empty outside all */
  readonly iteration: string;
  readonly attempt: number;
  readonly inputs: JsonObject;
}

export interface RunRecord {
  readonly workflow: string;
  readonly events: readonly PublicEvent[];
  /** of the head, which the API returns */
  readonly status: string;
  readonly output: JsonValue;
  readonly attempts: readonly RecordedAttempt[];
  /** the child runs that exist, in the order of the calls */
  readonly called: readonly RunRecord[];
  /** the status of a node, or `pending` before its start */
  readonly statusOf: (node: string) => string;
  /** events of one type, of one node or of any */
  readonly of: (type: PublicEvent['type'], node?: string) => readonly JsonObject[];
  /** how often the node was executed */
  readonly runsOf: (node: string) => number;
  /** the inputs of the node's last attempt */
  readonly inputsOf: (node: string) => JsonObject;
}

export const createRunRecord = (
  of: Pick<RunRecord, 'workflow' | 'events' | 'status' | 'output' | 'attempts' | 'called' | 'statusOf'>,
): RunRecord => ({
  ...of,
  of: (type, node) =>
    of.events
      .filter((event) => event.type === type && (node === undefined || event.payload['nodeId'] === node))
      .map(({ payload }) => payload),
  runsOf: (node) => of.attempts.filter((one) => one.node === node).length,
  inputsOf: (node) => of.attempts.findLast((one) => one.node === node)?.inputs ?? {},
});
