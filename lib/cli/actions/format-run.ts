/** Formats a run, its end and its events, each as one line. */
import { type CommandContext, type ExitCode, exitCodes, type Tone } from '../command.ts';
import { shortWorkflowName, stepNameIn } from '../devkit-names.ts';
import { formatStatus } from '../format.ts';
import type { AnsweredRun, EndedRun, Run, RunDelta, RunEvent, RunSummary } from '../../client/index.ts';

/** The workflow of a run with its version or deployment. */
export const formatRunWorkflow = (
  run: Pick<RunSummary, 'workflowName' | 'workflowVersion' | 'version' | 'deploymentId' | 'isTest' | 'isExternal'>,
): string => {
  if (run.isExternal === true) return `${run.workflowName}${run.version ? `@${run.version}` : ''} (openworkflow)`;
  if (run.isTest === true)
    return `${run.workflowName} (${run.workflowVersion === null ? 'test' : `@${run.workflowVersion}, of a test`})`;
  return run.deploymentId === null
    ? `${run.workflowName}@${run.workflowVersion}`
    : `${shortWorkflowName(run.workflowName)} on ${run.deploymentId}`;
};

/** A step of the Workflow DevKit by its name, every other node by its id. */
export const nodeName = ({ nodeId, label, iteration }: Pick<Run['nodes'][number], 'nodeId' | 'label' | 'iteration'>): string =>
  `${stepNameIn(label) ?? nodeId}${iteration === undefined ? '' : `@${iteration}`}`;

export function formatEndedRun(
  context: Pick<CommandContext, 'colorize'>,
  run: Pick<EndedRun | AnsweredRun, 'status' | 'runId' | 'error' | 'cancelReason'>,
): { readonly exitCode: ExitCode; readonly summary: string } {
  const reason = run.error === undefined ? run.cancelReason : `${run.error.code}: ${run.error.message}`;
  return {
    exitCode: run.status === 'completed' ? exitCodes.ok : exitCodes.failed,
    summary: `${formatStatus(context, run.status)}  ${run.runId}${reason === undefined ? '' : `  ${reason}`}`,
  };
}

export function formatEvent(
  { colorize }: Pick<CommandContext, 'colorize'>,
  { eventId, timestamp, type, payload }: RunEvent,
  nodeText?: string,
): string {
  const parts = [
    nodeText ?? text(payload['nodeId']),
    typeof payload['attempt'] === 'number' && payload['attempt'] > 1 ? `attempt ${payload['attempt']}` : '',
    text(payload['wakeAt'], 'until '),
    text(payload['retryAt'], 'again at '),
    text(payload['notBefore'], 'not before '),
    failureMessage(payload['failure'] ?? payload['error']),
    text(payload['reason']),
  ].filter((part) => part !== '');
  const line = [colorize('dim', `${String(eventId).padStart(4)}  ${timestamp}`), colorize(toneOf(type), type), ...parts].join(
    '  ',
  );
  const printed = Array.isArray(payload['lines']) ? payload['lines'] : [];
  return [line, ...printed.map((each) => `      ${colorize('dim', '│')} ${text(each)}`)].join('\n');
}

/** One line for each delta, because deltas of several nodes can interleave. */
export function formatDelta(
  { colorize }: Pick<CommandContext, 'colorize'>,
  { payload: { nodeId, text: deltaText } }: RunDelta,
): string {
  return `${colorize('dim', `      ${nodeId}:`)} ${JSON.stringify(deltaText).slice(1, -1)}`;
}

const text = (value: unknown, before = ''): string => (typeof value === 'string' && value !== '' ? before + value : '');

/** For example `2 failed: items 0, 7`; empty if no item failed. */
export function formatFailedItems({
  failed,
  failedItems = [],
}: NonNullable<Run['nodes'][number]['iterations']>): readonly string[] {
  if (failed === 0) return [];
  const more = failed > failedItems.length ? ', …' : '';
  const items = failedItems.length === 1 && more === '' ? 'item' : 'items';
  return failedItems.length === 0 ? [`${failed} failed`] : [`${failed} failed: ${items} ${failedItems.join(', ')}${more}`];
}

export const failureMessage = (failure: unknown): string => {
  if (typeof failure !== 'object' || failure === null || !('message' in failure)) return '';
  const code = 'code' in failure ? failure.code : 'cause' in failure ? failure.cause : undefined;
  return [text(code), text(failure.message)].filter((part) => part !== '').join(': ');
};

const toneOf = (type: RunEvent['type']): Tone => {
  if (type === 'run.completed') return 'good';
  if (/\.(failed|timed_out|blocked|invalidated|violated|flagged)$/.test(type)) return 'bad';
  return type === 'run.cancelled' || type === 'node.retried' ? 'warn' : 'bold';
};
