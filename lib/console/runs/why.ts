/** Why an open run has not ended, or why a run failed, from the run alone: one sentence, and the node that it is about. */
import { defined } from '../../base/defined.ts';
import { hiddenText } from '../../base/hidden-text.ts';
import type { Run, RunNode } from '../api.ts';
import { durationText } from '../primitives/duration.ts';

type Explained = Pick<Run, 'status' | 'nodes' | 'waitingFor' | 'rootCause' | 'error' | 'availableAt' | 'cancelReason'>;

const nameOf = ({ nodeId, label, iteration }: Pick<RunNode, 'nodeId' | 'label' | 'iteration'>): string =>
  `${label ?? nodeId}${iteration === undefined ? '' : ` [${iteration}]`}`;

const left = (at: string, now: number): string => {
  const ms = Date.parse(at) - now;
  return ms <= 0 ? 'now' : `in ${durationText(ms)}`;
};

export interface Explanation {
  readonly text: string;
  /** of an error */
  readonly code?: string;
  /** the node that it is about */
  readonly nodeId?: string;
  readonly iteration?: string;
}

/** @param now in ms since the epoch */
export function explain(run: Explained, now: number): Explanation | undefined {
  if (run.status === 'completed') return undefined;
  if (run.status === 'cancelled')
    return run.cancelReason === undefined ? undefined : { text: `It was cancelled: ${run.cancelReason}` };
  if (run.status === 'failed') return failureOf(run);
  if (run.waitingFor !== undefined)
    return { text: `It waits for one of ${run.waitingFor.slots} concurrency slots of its workflow.` };
  if (run.availableAt !== undefined && Date.parse(run.availableAt) > now)
    return { text: `It starts ${left(run.availableAt, now)}.` };
  const open = openNodes(run);
  const [first] = open;
  if (first === undefined) return undefined;
  const others = open.length - 1;
  const more = others === 0 ? '' : ` ${others} other ${others === 1 ? 'node is' : 'nodes are'} open.`;
  return { text: `${sentence(first, now)}${more}`, ...defined({ nodeId: first.nodeId, iteration: first.iteration }) };
}

/** The state in one word. An open run says what its most urgent node does: its own status stays `pending` while it waits. */
export function stateOf(run: Explained): string {
  if (run.status !== 'pending' && run.status !== 'running') return run.status;
  const [first] = openNodes(run);
  if (first === undefined) return run.status;
  return first.status === 'queued' && isRetried(first) ? 'retrying' : first.status;
}

/** The open nodes, the most urgent one first. */
const openNodes = ({ nodes }: Pick<Explained, 'nodes'>): readonly RunNode[] =>
  nodes
    .filter(({ status }) => ['queued', 'running', 'waiting'].includes(status))
    .toSorted((one, other) => urgency(one) - urgency(other));

/** For a list: the explanation in one line. */
export function why(run: Explained, now: number): string | undefined {
  const found = explain(run, now);
  return found?.code === undefined ? found?.text : `${found.code}: ${found.text}`;
}

function failureOf({ rootCause, error }: Explained): Explanation | undefined {
  if (rootCause !== undefined) {
    const { nodeId, iteration, attempt, error: cause } = rootCause;
    const at = iteration === undefined ? nodeId : `${nodeId} [${iteration}]`;
    const text = `${cause.message} (${at}, attempt ${attempt})`;
    return { text, code: cause.code, ...defined({ nodeId, iteration }) };
  }
  return error === undefined ? undefined : { text: error.message, code: error.code };
}

/** An earlier attempt of the queued node failed. */
const isRetried = ({ error, wakeAt }: RunNode): boolean => error !== undefined || wakeAt !== undefined;

/** Whether the node waits for its next attempt. */
export const isInBackoff = ({ status, wakeAt }: RunNode, now: number = Date.now()): boolean =>
  status === 'queued' && wakeAt !== undefined && Date.parse(wakeAt) > now;

/** What a person can act on comes first. */
const urgency = (node: RunNode): number => {
  if (node.error !== undefined || (node.status === 'queued' && isRetried(node))) return 0;
  if (node.waitingFor !== undefined) return 1;
  return node.status === 'running' ? 2 : 3;
};

function sentence(node: RunNode, now: number): string {
  const name = nameOf(node);
  if (node.waitingFor !== undefined) {
    const { signal, correlation, until } = node.waitingFor;
    const key = correlation === hiddenText ? signal : `${signal}/${correlation}`;
    return `${name} waits for the signal ${key}${until === undefined ? '' : `, and gives up ${left(until, now)}`}.`;
  }
  if (node.error !== undefined && node.status === 'queued') {
    const again = node.wakeAt === undefined ? '' : `, again ${left(node.wakeAt, now)}`;
    return `${name} failed with ${node.error.code}: ${node.error.message}${again} (attempt ${node.attempt}).`;
  }
  if (node.status === 'queued' && node.wakeAt !== undefined)
    return `${name} failed, and is tried again ${left(node.wakeAt, now)} (attempt ${node.attempt}).`;
  if (node.childRunId !== undefined) return `${name} waits for its child run ${node.childRunId}.`;
  if (node.iterations !== undefined) return `${name} has ended ${node.iterations.ended} of ${node.iterations.items} items.`;
  if (node.wakeAt !== undefined) return `${name} sleeps and wakes ${left(node.wakeAt, now)}.`;
  if (node.status === 'running')
    return `${name} is running${node.startedAt === undefined ? '' : ` for ${durationText(Math.max(0, now - Date.parse(node.startedAt)))}`}.`;
  return `${name} is in the queue.`;
}
