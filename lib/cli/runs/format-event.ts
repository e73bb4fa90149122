/** An event in one line. */
import type { RunDelta, RunEvent } from '../../client/index.ts';
import type { CommandContext, Tone } from '../command.ts';

export function formatEvent(
  { colorize }: Pick<CommandContext, 'colorize'>,
  { eventId, timestamp, type, payload }: RunEvent,
): string {
  const parts = [
    text(payload['nodeId']),
    typeof payload['attempt'] === 'number' && payload['attempt'] > 1 ? `attempt ${payload['attempt']}` : '',
    text(payload['wakeAt'], 'until '),
    text(payload['retryAt'], 'again at '),
    text(payload['notBefore'], 'not before '),
    failureMessage(payload['failure'] ?? payload['error']),
    text(payload['reason']),
  ].filter((part) => part !== '');
  return [colorize('dim', `${String(eventId).padStart(4)}  ${timestamp}`), colorize(toneOf(type), type), ...parts].join('  ');
}

/** What a node says, as it comes: a line for each piece, for others may speak in between. */
export function formatDelta(
  { colorize }: Pick<CommandContext, 'colorize'>,
  { payload: { nodeId, text: deltaText } }: RunDelta,
): string {
  return `${colorize('dim', `      ${nodeId}:`)} ${JSON.stringify(deltaText).slice(1, -1)}`;
}

const text = (value: unknown, before = ''): string => (typeof value === 'string' && value !== '' ? before + value : '');

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
