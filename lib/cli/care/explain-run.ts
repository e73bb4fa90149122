import type { RunEvent, StepwellClient } from '../../client/index.ts';
import type { Action, Shell } from '../command.ts';
import { argument, runId } from '../given.ts';
import { status, table } from '../words.ts';
import { type Explanation, explain } from './explain.ts';

export const explainRun: Action = async (given, shell) => {
  const id = argument(given, 0, 'runId', runId);
  const client = await shell.client();
  const run = await client.getRun(id, { resolveData: 'none' }, { signal: shell.signal });
  const explanation = explain(run, await allEvents(client, id, shell.signal), shell.now());
  return { data: explanation, text: told(shell, explanation) };
};

async function allEvents(client: StepwellClient, id: string, signal: AbortSignal): Promise<readonly RunEvent[]> {
  const events: RunEvent[] = [];
  for (let from: { after?: string } = {}; ;) {
    const page = await client.listRunEvents(id, { ...from, limit: 1_000 }, { signal });
    events.push(...page.data);
    if (!page.hasMore) return events;
    from = { after: page.cursor };
  }
}

function told(shell: Shell, { runId: id, status: word, sentence, nodes }: Explanation): string {
  const rows = nodes.map((node) => [
    node.nodeId,
    node.state,
    String(node.attempt),
    node.since ?? '',
    node.until ?? '',
    node.lastFailure ?? '',
  ]);
  return [
    sentence,
    '',
    `${id}  ${status(shell, word)}`,
    ...(rows.length === 0 ? [] : [table(shell, ['node', 'state', 'attempt', 'since', 'until', 'last failure'], rows)]),
  ].join('\n');
}
