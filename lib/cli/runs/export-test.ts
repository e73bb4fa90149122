/** `runs export-test`: the history of a run as a file, and a test beside it that replays it against the code as it is. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import type { Run, RunEvent, StepwellClient } from '../../client/index.ts';
import { type HistoryDocument, type ValueSource, historyDocument } from '../../engine/durable/history-document.ts';
import type { JsonValue } from '../../engine/json.ts';
import { type Action, CliError, type CommandContext } from '../command.ts';
import { parseArgument, parseOptions, runId } from '../parse-command-line.ts';

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

export const exportTest: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'runId', runId);
  const { into, name: requestedName, import: from, runner } = parseOptions(commandLine, shape);
  const history = await readHistory(await context.client(), id, context);
  const { workflowName } = history.run;
  const name = requestedName ?? `${workflowName}-${id.slice(-6).toLowerCase()}`;
  const files = {
    [join(into, `${name}.history.json`)]: `${JSON.stringify(history, null, 2)}\n`,
    [join(into, `${name}.test.ts`)]: createTest(name, history, from ?? `../workflows/${workflowName}.ts`, runner),
  };
  const existing = Object.keys(files).find((path) => existsSync(join(context.cwd, path)));
  if (existing !== undefined) throw new CliError('file_exists', `${existing} is there already: name the test with --name.`);
  mkdirSync(join(context.cwd, into), { recursive: true });
  for (const [path, text] of Object.entries(files)) writeFileSync(join(context.cwd, path), text, { flag: 'wx' });
  const written = Object.keys(files);
  return { data: { written }, text: written.map((path) => `+ ${path}`).join('\n') };
};

async function readHistory(
  client: StepwellClient,
  id: string,
  { signal }: Pick<CommandContext, 'signal'>,
): Promise<HistoryDocument> {
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
    throw new CliError('no_history', `${id} is no run of code that is replayed: there is nothing to replay.`);
  return historyDocument({ id, workflowName, version, createdAt, deadlineAt }, events, (location) => readValue(run, location));
}

/** Events name large values by a reference; the run itself brings them, as far as an answer holds them. */
function readValue(run: Run, location: ValueSource): JsonValue {
  const node = typeof location === 'object' ? run.nodes.find(({ nodeId }) => nodeId === location.nodeId) : undefined;
  const value = location === 'input' ? run.input : location === 'output' ? run.output : node?.output;
  if (value !== undefined) return value;
  const valueName =
    typeof location === 'object' ? `the output of ${node?.label ?? location.nodeId}` : `the ${location} of the run`;
  throw new CliError(
    'value_omitted',
    `The service leaves out ${valueName}, which is too large: there is no whole history of ${run.runId}.`,
  );
}

function createTest(
  name: string,
  { run: { id, workflowName }, end }: HistoryDocument,
  from: string,
  runner: 'vitest' | 'node',
): string {
  const expectedStatus = end.status === 'completed' || end.status === 'failed' ? end.status : 'waiting';
  const imports = {
    vitest: `import { expect, test } from 'vitest';\n`,
    node: `import assert from 'node:assert/strict';\nimport { test } from 'node:test';\n`,
  };
  const assertion = {
    vitest: `  expect((await replay(workflows, history)).status).toBe('${expectedStatus}');`,
    node: `  assert.equal((await replay(workflows, history)).status, '${expectedStatus}');`,
  };
  return `/** The history of ${id}, a run of ${workflowName}, fits the code as it is: a run like it could go on with it. */
${imports[runner]}import { replay } from 'stepwell/testing';
import * as workflows from ${JSON.stringify(from)};
import history from ${JSON.stringify(`./${name}.history.json`)} with { type: 'json' };

test('${workflowName} can go on with ${id}', async () => {
${assertion[runner]}
});
`;
}
