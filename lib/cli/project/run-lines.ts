/** Prints what runs do while `stepwell dev` runs: a line for each start and end of a run, and for each node or step. */
import type { CommandContext } from '../command.ts';
import { failureMessage } from '../actions/format-run.ts';
import { formatDuration, formatStatus } from '../format.ts';
import type { RunEvent, StepwellClient } from '../../client/index.ts';

const pollIntervalMs = 500;
/** More open runs than this are not followed until others have ended. */
const maxFollowedRuns = 50;
const pageSize = 50;

interface FollowedRun {
  readonly runId: string;
  readonly workflowName: string;
  /** where the next page of events begins; undefined: at the first event */
  cursor: string | undefined;
  /** when a node began, in milliseconds, by node and iteration */
  readonly begunAt: Map<string, number>;
  startedAt: number | undefined;
}

const endedStatuses: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled', 'timed_out']);
const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** An event's name ends in a status, as in `node.completed` and `run.failed`. */
const statusOf = (type: RunEvent['type']): string => type.slice(type.indexOf('.') + 1);

/** The line of an event without its prefix; undefined for events that a reader of the terminal does not need. */
export function describeRunEvent(
  context: Pick<CommandContext, 'colorize'>,
  run: Pick<FollowedRun, 'begunAt' | 'startedAt'>,
  { type, timestamp, payload }: RunEvent,
): string | undefined {
  const at = Date.parse(timestamp);
  const line = (...parts: readonly string[]): string => parts.filter((part) => part !== '').join('  ');
  const since = (begun: number | undefined): string => (begun === undefined ? '' : formatDuration(at - begun));
  const failure = failureMessage(payload['failure'] ?? payload['error']);
  const nodeId = text(payload['nodeId']);
  const node = `${nodeId}${text(payload['iteration']) === '' ? '' : ` [${text(payload['iteration'])}]`}`;
  switch (type) {
    case 'run.started':
      run.startedAt ??= at;
      return line(formatStatus(context, 'running'), context.colorize('bold', 'run started'));
    case 'run.completed':
    case 'run.failed':
    case 'run.timed_out':
    case 'run.cancelled':
      return line(formatStatus(context, statusOf(type)), context.colorize('bold', 'run'), since(run.startedAt), failure);
    case 'node.queued':
    case 'node.started':
      run.begunAt.set(node, at);
      return undefined;
    case 'node.waiting':
      run.begunAt.set(node, at);
      return line(formatStatus(context, 'waiting'), node, `until ${text(payload['wakeAt'])}`);
    case 'signal.awaited':
      run.begunAt.set(node, at);
      return line(
        formatStatus(context, 'waiting'),
        node,
        `for the signal ${text(payload['name']) || text(payload['signalName'])}`,
      );
    case 'node.retried':
      return line(formatStatus(context, 'failed'), node, failure, 'retried');
    case 'node.completed':
    case 'node.failed':
    case 'node.timed_out':
    case 'node.blocked':
    case 'node.invalidated':
    case 'node.skipped':
      // Workflow tasks are nodes of the product, not of the author.
      if (nodeId.startsWith('.') && type === 'node.completed') return undefined;
      return line(formatStatus(context, statusOf(type)), node, since(run.begunAt.get(node)), failure);
    default:
      return undefined;
  }
}

/** Runs until the signal is aborted. Errors are transient: the next check tries again. */
export async function printRunLines(context: CommandContext, client: StepwellClient): Promise<void> {
  const { signal, sleep } = context;
  const followed = new Map<string, FollowedRun>();
  const known = new Set<string>();
  let isFirstCheck = true;
  while (!signal.aborted) {
    try {
      const { data } = await client.listRuns({ limit: pageSize }, { signal });
      for (const run of data.toReversed()) {
        if (known.has(run.runId) || followed.size >= maxFollowedRuns) continue;
        known.add(run.runId);
        if (isFirstCheck && endedStatuses.has(run.status)) continue;
        const { runId, workflowName } = run;
        const entry: FollowedRun = { runId, workflowName, cursor: undefined, begunAt: new Map(), startedAt: undefined };
        followed.set(runId, entry);
        // The earlier events of a run that is open at the start are read, and not printed.
        if (isFirstCheck) await readNewEvents(context, client, entry);
      }
      isFirstCheck = false;
      for (const run of followed.values()) {
        const { lines, hasEnded } = await readNewEvents(context, client, run);
        lines.forEach(context.print);
        if (hasEnded) followed.delete(run.runId);
      }
    } catch {
      // The deployment reports an unreachable service.
    }
    await sleep(pollIntervalMs, signal);
  }
}

async function readNewEvents(
  context: CommandContext,
  client: StepwellClient,
  run: FollowedRun,
): Promise<{ readonly lines: readonly string[]; readonly hasEnded: boolean }> {
  const { signal, colorize } = context;
  const lines: string[] = [];
  let hasEnded = false;
  for (let hasMore = true; hasMore;) {
    const page = await client.listRunEvents(run.runId, run.cursor === undefined ? {} : { after: run.cursor }, { signal });
    for (const event of page.data) {
      const described = describeRunEvent(context, run, event);
      if (described !== undefined)
        lines.push(
          `${colorize('dim', event.timestamp.slice(11, 23))}  ${run.workflowName} ${colorize('dim', run.runId)}  ${described}`,
        );
      hasEnded ||= event.type.startsWith('run.') && endedStatuses.has(statusOf(event.type));
    }
    run.cursor = page.cursor;
    hasMore = page.hasMore;
  }
  return { lines, hasEnded };
}
