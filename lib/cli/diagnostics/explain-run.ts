import type { RunEvent, StepwellClient } from '../../client/index.ts';
import type { Action, CommandContext } from '../command.ts';
import { parseArgument, runId } from '../parse-command-line.ts';
import { formatStatus, formatTable } from '../format.ts';
import { type Explanation, explain } from './explain.ts';

export const explainRun: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'runId', runId);
  const client = await context.client();
  const run = await client.getRun(id, { resolveData: 'none' }, { signal: context.signal });
  const explanation = explain(run, await allEvents(client, id, context.signal), context.now());
  return { data: explanation, text: formatExplanation(context, explanation) };
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

function formatExplanation(context: CommandContext, { runId: id, status: runStatus, summary, nodes }: Explanation): string {
  const rows = nodes.map((node) => [
    node.nodeId,
    node.state,
    String(node.attempt),
    node.since ?? '',
    node.until ?? '',
    node.lastFailure ?? '',
  ]);
  return [
    summary,
    '',
    `${id}  ${formatStatus(context, runStatus)}`,
    ...(rows.length === 0 ? [] : [formatTable(context, ['node', 'state', 'attempt', 'since', 'until', 'last failure'], rows)]),
  ].join('\n');
}
