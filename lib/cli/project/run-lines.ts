/** Prints what runs do while `stepwell start` or `stepwell dev` runs: a line for each start and end of a run, for each node or step, and for each line that it printed. */
import * as z from 'zod';
import type { CommandContext } from '../command.ts';
import { evidenceIn } from '../actions/failure-evidence.ts';
import { failureMessage } from '../actions/format-run.ts';
import { StepNames, shortWorkflowName } from '../devkit-names.ts';
import { formatDuration, formatStatus } from '../format.ts';
import { ComputeClientError, type RunEvent, type RunSummary, type StepwellClient } from '../../client/index.ts';

const pollIntervalMs = 500;
/** The interval while no run is open: each check is a request that the API function logs. */
const idleIntervalMs = 1_000;
/** Runs whose events one check reads. The others wait for the next check, those that waited longest first. */
const runsPerCheck = 100;
const concurrentReads = 8;
const pageSize = 100;
/** Runs are listed by the time of their creation, which several processes write: a list can gain a run that is a little older. */
const overlapMs = 60_000;

interface FollowedRun {
  readonly runId: string;
  readonly workflowName: string;
  /** where the next page of events begins; undefined: at the first event */
  cursor: string | undefined;
  /** the number of the last check that read its events */
  readInCheck: number;
  /** when a node began, in milliseconds, by node and iteration */
  readonly begunAt: Map<string, number>;
  /** the names of the steps of a code run, by node: only the dispatch of a step contains it */
  readonly stepNames: Map<string, string>;
  /** as those, of a run of the Workflow DevKit */
  readonly devKitSteps: StepNames;
  startedAt: number | undefined;
}

const dispatchedStep = z.object({ key: z.string() });
const endedStatuses: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled', 'timed_out']);
const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const texts = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(text) : []);

/** An event's name ends in a status, as in `node.completed` and `run.failed`. */
const statusOf = (type: RunEvent['type']): string => type.slice(type.indexOf('.') + 1);

const joined = (...parts: readonly string[]): string => parts.filter((part) => part !== '').join('  ');

type LineContext = Pick<CommandContext, 'colorize'>;
type RunState = Pick<FollowedRun, 'begunAt' | 'stepNames' | 'devKitSteps' | 'startedAt'>;

/** The lines of an event without their prefix; none for events that a reader of the terminal does not need. */
export function describeRunEvent(context: LineContext, run: RunState, event: RunEvent): readonly string[] {
  const { type, payload } = event;
  const nodeId = text(payload['nodeId']);
  const { data: step } = dispatchedStep.safeParse(payload['step']);
  if (step !== undefined) run.stepNames.set(nodeId, step.key);
  const name = run.devKitSteps.nameOf(event) ?? run.stepNames.get(nodeId) ?? nodeId;
  const node = `${name}${text(payload['iteration']) === '' ? '' : ` [${text(payload['iteration'])}]`}`;
  const printed = texts(payload['printed']).map((line) => `${context.colorize('dim', '·')} ${joined(node, line)}`);
  const described = type.startsWith('run.') ? describeOfRun(context, run, event) : describeOfNode(context, run, node, event);
  return [...printed, ...(described === undefined ? [] : [described])];
}

/** With the author's line, if the failure has one. */
function describeFailure(failure: unknown): string {
  const { at } = evidenceIn(failure);
  return `${failureMessage(failure)}${at === undefined ? '' : `, at ${at}`}`;
}

const durationSince = (begunAt: number | undefined, timestamp: string): string =>
  begunAt === undefined ? '' : formatDuration(Date.parse(timestamp) - begunAt);

function describeOfRun(context: LineContext, run: RunState, { type, timestamp, payload }: RunEvent): string | undefined {
  const status = statusOf(type);
  if (type === 'run.started') {
    run.startedAt ??= Date.parse(timestamp);
    return joined(formatStatus(context, 'running'), context.colorize('bold', 'run started'));
  }
  if (!endedStatuses.has(status)) return undefined;
  const failure = describeFailure(payload['failure'] ?? payload['error']);
  return joined(formatStatus(context, status), context.colorize('bold', 'run'), durationSince(run.startedAt, timestamp), failure);
}

function describeOfNode(
  context: LineContext,
  run: RunState,
  node: string,
  { type, timestamp, payload }: RunEvent,
): string | undefined {
  const failure = describeFailure(payload['failure'] ?? payload['error']);
  const begin = (): void => void run.begunAt.set(node, Date.parse(timestamp));
  switch (type) {
    case 'node.queued':
    case 'node.started':
      begin();
      return undefined;
    case 'node.waiting':
      begin();
      return joined(formatStatus(context, 'waiting'), node, `until ${text(payload['wakeAt'])}`);
    case 'signal.awaited':
      begin();
      return joined(
        formatStatus(context, 'waiting'),
        node,
        `for the signal ${text(payload['name']) || text(payload['signalName'])}`,
      );
    case 'node.retried':
      return joined(formatStatus(context, 'failed'), node, failure, 'retried');
    case 'node.completed':
    case 'node.failed':
    case 'node.timed_out':
    case 'node.blocked':
    case 'node.invalidated':
    case 'node.skipped':
      // Workflow tasks are nodes of the product, not of the author.
      if (node.startsWith('.') && type === 'node.completed') return undefined;
      return joined(formatStatus(context, statusOf(type)), node, durationSince(run.begunAt.get(node), timestamp), failure);
    default:
      return undefined;
  }
}

type PrintContext = Pick<CommandContext, 'signal' | 'sleep' | 'print' | 'colorize'>;
type Client = Pick<StepwellClient, 'health' | 'eachRun' | 'listRunEvents'>;

/** Runs until the signal is aborted. Errors are transient: the next check tries again. */
export async function printRunLines(context: PrintContext, client: Client): Promise<void> {
  const follower = new RunFollower(context, client);
  while (!context.signal.aborted) {
    try {
      await follower.check();
    } catch {
      // The deployment reports an unreachable service.
    }
    await context.sleep(follower.isIdle ? idleIntervalMs : pollIntervalMs, context.signal);
  }
}

class RunFollower {
  readonly #context: PrintContext;
  readonly #client: Client;
  readonly #followed = new Map<string, FollowedRun>();
  readonly #known = new Set<string>();
  /** by the clock of the service, which can be ahead of this machine's; undefined until the first check */
  #createdAfter: number | undefined;
  #checks = 0;

  constructor(context: PrintContext, client: Client) {
    this.#context = context;
    this.#client = client;
  }

  get isIdle(): boolean {
    return this.#followed.size === 0;
  }

  async check(): Promise<void> {
    this.#checks += 1;
    if (this.#createdAfter === undefined) await this.#followOpenRuns();
    else await this.#followNewRuns(this.#createdAfter);
    const next = [...this.#followed.values()]
      .toSorted((one, other) => one.readInCheck - other.readInCheck)
      .slice(0, runsPerCheck);
    for (let at = 0; at < next.length; at += concurrentReads)
      await Promise.all(next.slice(at, at + concurrentReads).map((run) => this.#readNewEvents(run, this.#context.print)));
  }

  /** The earlier events of a run that is open now are read, and not printed. */
  async #followOpenRuns(): Promise<void> {
    const { signal } = this.#context;
    const now = Date.parse((await this.#client.health({ signal })).timestamp);
    for (const status of ['pending', 'running'] as const) {
      const query = { status, includeChildren: 'true', createdBefore: new Date(now).toISOString(), limit: pageSize } as const;
      for await (const run of this.#client.eachRun(query, { signal })) {
        if (this.#known.has(run.runId)) continue;
        await this.#readNewEvents(this.#follow(run), () => undefined);
      }
    }
    this.#createdAfter = now;
  }

  async #followNewRuns(createdAfter: number): Promise<void> {
    const { signal } = this.#context;
    const query = { includeChildren: 'true', createdAfter: new Date(createdAfter).toISOString(), limit: pageSize } as const;
    const found: RunSummary[] = [];
    for await (const run of this.#client.eachRun(query, { signal })) if (!this.#known.has(run.runId)) found.push(run);
    for (const run of found.toReversed()) {
      this.#follow(run);
      this.#createdAfter = Math.max(createdAfter, Date.parse(run.createdAt) - overlapMs);
    }
  }

  #follow({ runId, workflowName }: RunSummary): FollowedRun {
    const run: FollowedRun = {
      runId,
      workflowName,
      cursor: undefined,
      readInCheck: 0,
      begunAt: new Map(),
      stepNames: new Map(),
      devKitSteps: new StepNames(),
      startedAt: undefined,
    };
    this.#known.add(runId);
    this.#followed.set(runId, run);
    return run;
  }

  async #readNewEvents(run: FollowedRun, print: (line: string) => void): Promise<void> {
    const { signal } = this.#context;
    run.readInCheck = this.#checks;
    try {
      for (let hasMore = true; hasMore;) {
        const page = await this.#client.listRunEvents(run.runId, run.cursor === undefined ? {} : { after: run.cursor }, {
          signal,
        });
        for (const event of page.data) this.#linesOf(run, event).forEach(print);
        run.cursor = page.cursor;
        hasMore = page.hasMore;
      }
    } catch (error) {
      // A deleted run has no more events. Another failure of one run must not stop the lines of the others.
      if (error instanceof ComputeClientError && error.status === 404) this.#followed.delete(run.runId);
    }
  }

  #linesOf(run: FollowedRun, event: RunEvent): readonly string[] {
    const { colorize } = this.#context;
    if (event.type.startsWith('run.') && endedStatuses.has(statusOf(event.type))) this.#followed.delete(run.runId);
    const prefix = `${colorize('dim', event.timestamp.slice(11, 23))}  ${shortWorkflowName(run.workflowName)} ${colorize('dim', run.runId)}`;
    return describeRunEvent({ colorize }, run, event).map((described) => `${prefix}  ${described}`);
  }
}
