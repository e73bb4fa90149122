/** An event in one line. */
import type { RunDelta, RunEvent } from '../../client/index.ts';
import type { Shell, Tone } from '../command.ts';

export function eventLine({ paint }: Pick<Shell, 'paint'>, { eventId, timestamp, type, payload }: RunEvent): string {
  const told = [
    text(payload['nodeId']),
    typeof payload['attempt'] === 'number' && payload['attempt'] > 1 ? `attempt ${payload['attempt']}` : '',
    text(payload['wakeAt'], 'until '),
    text(payload['retryAt'], 'again at '),
    text(payload['notBefore'], 'not before '),
    messageIn(payload['failure'] ?? payload['error']),
    text(payload['reason']),
  ].filter((part) => part !== '');
  return [paint('dim', `${String(eventId).padStart(4)}  ${timestamp}`), paint(toneOf(type), type), ...told].join('  ');
}

/** What a node says, as it comes: a line for each piece, for others may speak in between. */
export function saidLine({ paint }: Pick<Shell, 'paint'>, { payload: { nodeId, text: said } }: RunDelta): string {
  return `${paint('dim', `      ${nodeId}:`)} ${JSON.stringify(said).slice(1, -1)}`;
}

const text = (value: unknown, before = ''): string => (typeof value === 'string' && value !== '' ? before + value : '');

export const messageIn = (failure: unknown): string => {
  if (typeof failure !== 'object' || failure === null || !('message' in failure)) return '';
  const code = 'code' in failure ? failure.code : 'cause' in failure ? failure.cause : undefined;
  return [text(code), text(failure.message)].filter((part) => part !== '').join(': ');
};

const toneOf = (type: RunEvent['type']): Tone => {
  if (type === 'run.completed') return 'good';
  if (/\.(failed|timed_out|blocked|invalidated|violated|flagged)$/.test(type)) return 'bad';
  return type === 'run.cancelled' || type === 'node.retried' ? 'warn' : 'bold';
};
