/** `runs export-test`: the history of a run as a file, and a test beside it that replays it against the code as it is. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import type { Run, RunEvent, StepwellClient } from '../../client/index.ts';
import { type HistoryDocument, type ValuePlace, historyDocument } from '../../engine/durable/history-document.ts';
import type { JsonValue } from '../../engine/json.ts';
import { type Action, CliFault, type Shell } from '../command.ts';
import { argument, optionsIn, runId } from '../given.ts';

const shape = z.object({
  into: z.string().min(1).default('tests'),
  name: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/)
    .optional(),
  import: z.string().min(1).optional(),
  runner: z.enum(['vitest', 'node']).default('vitest'),
});

/** Events of one page of the service, at most. */
const pageEvents = 1_000;

export const exportTest: Action = async (given, shell) => {
  const id = argument(given, 0, 'runId', runId);
  const { into, name: ownName, import: from, runner } = optionsIn(given, shape);
  const history = await historyOf(await shell.client(), id, shell);
  const { workflowName } = history.run;
  const name = ownName ?? `${workflowName}-${id.slice(-6).toLowerCase()}`;
  const files = {
    [join(into, `${name}.history.json`)]: `${JSON.stringify(history, null, 2)}\n`,
    [join(into, `${name}.test.ts`)]: testText(name, history, from ?? `../workflows/${workflowName}.ts`, runner),
  };
  const standing = Object.keys(files).find((path) => existsSync(join(shell.cwd, path)));
  if (standing !== undefined) throw new CliFault('file_exists', `${standing} is there already: name the test with --name.`);
  mkdirSync(join(shell.cwd, into), { recursive: true });
  for (const [path, text] of Object.entries(files)) writeFileSync(join(shell.cwd, path), text, { flag: 'wx' });
  const written = Object.keys(files);
  return { data: { written }, text: written.map((path) => `+ ${path}`).join('\n') };
};

async function historyOf(client: StepwellClient, id: string, { signal }: Pick<Shell, 'signal'>): Promise<HistoryDocument> {
  const events: RunEvent[] = [];
  for (let [hasMore, from] = [true, {}]; hasMore;) {
    const page = await client.listRunEvents(id, { ...from, limit: pageEvents }, { signal });
    events.push(...page.data);
    [hasMore, from] = [page.hasMore, { after: page.cursor }];
  }
  // After the events: what they name is there by now.
  const run = await client.getRun(id, {}, { signal });
  const { workflowName, version, createdAt, deadlineAt } = run;
  if (version === undefined)
    throw new CliFault('no_history', `${id} is no run of code that is replayed: there is nothing to replay.`);
  return historyDocument({ id, workflowName, version, createdAt, deadlineAt }, events, (place) => valueIn(run, place));
}

/** Events name large values by a reference; the run itself brings them, as far as an answer holds them. */
function valueIn(run: Run, place: ValuePlace): JsonValue {
  const node = typeof place === 'object' ? run.nodes.find(({ nodeId }) => nodeId === place.nodeId) : undefined;
  const value = place === 'input' ? run.input : place === 'output' ? run.output : node?.output;
  if (value !== undefined) return value;
  const what = typeof place === 'object' ? `the output of ${node?.label ?? place.nodeId}` : `the ${place} of the run`;
  throw new CliFault(
    'value_omitted',
    `The service leaves out ${what}, which is too large: there is no whole history of ${run.runId}.`,
  );
}

function testText(
  name: string,
  { run: { id, workflowName }, end }: HistoryDocument,
  from: string,
  runner: 'vitest' | 'node',
): string {
  const came = end.status === 'completed' || end.status === 'failed' ? end.status : 'goes_on';
  const imports = {
    vitest: `import { expect, test } from 'vitest';\n`,
    node: `import assert from 'node:assert/strict';\nimport { test } from 'node:test';\n`,
  };
  const claim = {
    vitest: `  expect((await replay(workflows, history)).status).toBe('${came}');`,
    node: `  assert.equal((await replay(workflows, history)).status, '${came}');`,
  };
  return `/** The history of ${id}, a run of ${workflowName}, fits the code as it is: a run like it could go on with it. */
${imports[runner]}import { replay } from 'stepwell/testing';
import * as workflows from ${JSON.stringify(from)};
import history from ${JSON.stringify(`./${name}.history.json`)} with { type: 'json' };

test('${workflowName} can go on with ${id}', async () => {
${claim[runner]}
});
`;
}
