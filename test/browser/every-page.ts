/** An installation with content in every page of the console, and the addresses of each page. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ulid } from 'ulid';
import { expect, vi } from 'vitest';
import * as z from 'zod';
import { bundlePaths } from '../../lib/ports/bundles.ts';
import { packedDeployment } from '../artifact/packed.ts';
import { root } from '../e2e/local-start.ts';
import type { SignedIn } from './sign-in.ts';

/** What authors can write. */
export interface Content {
  /** the longest name that a workflow, a lens or a query can have */
  readonly name: string;
  /** free text, at most 256 characters */
  readonly text: string;
  /** the name of a workflow of the DevKit, after the path of its module */
  readonly devKitName: string;
  /** JSON of the input of runs, with a list `lines` */
  readonly input: string;
  /** code of a script that returns its output */
  readonly code: string;
  /** absent: no run has large values and names that objects have */
  readonly large?: LargeContent;
}

/** The largest values that the API takes, and names that every object has. */
interface LargeContent {
  /** nearly the largest body that starts a run, as JSON */
  readonly input: string;
  /** answers `/keys`, `/big` and `/omitted` with JSON, the last with more than a response of the API shows */
  readonly server: string;
  /** an output to pin, nearly as large as a draft may be */
  readonly pinned: unknown;
}

/** A workflow, of which no part has a name that is not a property of each object. */
const largeName = 'constructor';
const largeNodes = ['__proto__', 'constructor', 'hasOwnProperty', 'toString'] as const;

export interface Installation {
  readonly content: Content;
  readonly completed: string;
  readonly failed: string;
  readonly waiting: string;
  readonly devKit: string;
  /** with `Content.large` only */
  readonly large?: string;
}

/** Content of ordinary length. */
export const plainContent: Content = {
  name: 'order-total',
  text: 'Sum up the lines of the order',
  devKitName: 'processOrder',
  input: '{"lines":[1,2]}',
  code: 'return { total: 3 }',
};

const encode = encodeURIComponent;

const ifLarge = (runId: string | undefined, of: (runId: string) => readonly string[]): readonly string[] =>
  runId === undefined ? [] : of(runId);

/** The addresses of each row of `lib/console/shell/pages.tsx`. A page that is missing here fails `everyPageIsListed`. */
const addresses: Readonly<Record<string, (made: Installation) => readonly string[]>> = {
  runs: ({ content }) => ['runs', `runs?workflow=${content.name}`, `runs?correlation=${encode(content.text)}&version=7`],
  'runs/*': ({ completed, failed, waiting, devKit, large }) => [
    ...['graph', 'waterfall', 'events', 'data'].map((tab) => `runs/${completed}?tab=${tab}`),
    `runs/${failed}?node=work`,
    `runs/${failed}?tab=iterations`,
    `runs/${failed}?tab=waterfall&node=work`,
    `runs/${waiting}`,
    `runs/${devKit}`,
    ...ifLarge(large, (runId) => [
      ...['graph', 'waterfall', 'events', 'data'].map((tab) => `runs/${runId}?tab=${tab}`),
      ...largeNodes.map((node) => `runs/${runId}?node=${node}`),
    ]),
  ],
  compare: ({ completed, failed, large }) => [
    'compare',
    `compare?a=${completed}&b=${failed}`,
    ...ifLarge(large, (runId) => [`compare?a=${runId}&b=${completed}`]),
  ],
  attention: () => ['attention'],
  workflows: () => ['workflows'],
  'workflows/*': ({ content, large }) => [
    `workflows/${content.name}`,
    `workflows/${content.name}?tab=versions`,
    `workflows/${content.name}?tab=json`,
    `workflows/${content.name}?version=1&with=2`,
    ...ifLarge(large, () => [`workflows/${largeName}`, `workflows/${largeName}?tab=json`]),
  ],
  'workflows/*/edit': ({ content, large }) => [
    `workflows/${content.name}/edit`,
    ...ifLarge(large, () => [`workflows/${largeName}/edit`]),
  ],
  schedules: () => ['schedules'],
  'schedules/*': ({ content }) => [`schedules/${content.name.slice(0, 64)}`],
  deployments: () => ['deployments'],
  signals: ({ content }) => ['signals', `signals?name=${encode(content.text)}&correlation=${encode(content.text)}`],
  lenses: () => ['lenses'],
  'lenses/*': ({ content }) => [`lenses/${content.name}`],
  queries: () => ['queries'],
  'queries/*': ({ content }) => [`queries/${content.name}`],
  keys: () => ['keys?all=true'],
  audit: () => ['audit'],
  widgets: () => ['widgets'],
  settings: () => ['settings'],
};

export const everyAddress = (made: Installation): readonly string[] => Object.values(addresses).flatMap((of) => of(made));

/** The table of pages is a module with JSX, which Node does not load. */
export function everyPageIsListed(): void {
  const source = readFileSync(join(root, 'lib/console/shell/pages.tsx'), 'utf8');
  const paths = [...source.matchAll(/\{ path: '([^']+)'/g)].map(([, path]) => path);
  expect(paths.length).toBeGreaterThan(10);
  expect(Object.keys(addresses)).toEqual(paths);
}

const runShape = z.object({ runId: z.string() });

const edge = (source: string, target: string, sourceHandle?: string) => ({
  source,
  target,
  ...(sourceHandle === undefined ? {} : { sourceHandle }),
});
const ends = [
  { id: 'start', type: 'start' },
  { id: 'end', type: 'end', config: { outputParameters: [{ name: 'made', sourceVariable: '{{ctx.made}}' }] } },
];

type Call = (path: string, body: unknown, headers?: Readonly<Record<string, string>>) => Promise<unknown>;

/** A run with the names of `largeNodes`, arguments of such names, and values as large as they can be, and a draft with a pin. */
async function populateLarge(call: Call, { text }: Content, { input, server, pinned }: LargeContent): Promise<string> {
  const config = { constructor: 'of every object', toString: text.slice(0, 60).replaceAll(/[^ -~]/g, '') };
  const get = (id: string, path: string) => ({
    id,
    type: 'http',
    label: text,
    config: {
      url: `${server}/${path}`,
      query: config,
      outputVariable: `of_${path}`,
      maxResponseBytes: 5_242_880,
      retry: { attempts: 1 },
    },
  });
  const [keys, big, omitted, last] = largeNodes;
  const nodes = [
    ...ends,
    get(keys, 'keys'),
    get(big, 'big'),
    get(omitted, 'omitted'),
    {
      id: last,
      type: 'javascript',
      label: text,
      config: { code: 'return { constructor: ctx.of_keys.body }', outputVariable: 'made' },
    },
  ];
  const way = ['start', ...largeNodes, 'end'];
  const edges = way.slice(1).map((target, at) => edge(way[at] ?? '', target));
  const args = [...largeNodes, 'lines'].map((name) => ({ name, type: 'object' }));
  await call('/v1/workflows', { name: largeName, nodes, edges, options: { args } });
  const { runId } = runShape.parse(
    await call('/v1/runs', `{"workflowName":"${largeName}","input":${input}}`, { 'idempotency-key': largeName }),
  );
  const definition = { name: largeName, nodes, edges, options: { args } };
  await call(`/v1/workflows/${largeName}/draft`, { definition, revision: 0, basedOn: 1, pinned: { [big]: { output: pinned } } });
  return runId;
}

/** Writes the content into everything that a page shows. */
export async function populate({ local }: Pick<SignedIn, 'local'>, content: Content): Promise<Installation> {
  const { name, text } = content;
  const call = async (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<unknown> => {
    const answer = await local.call('POST', path, body, headers);
    expect(answer.status, `${path}: ${JSON.stringify(answer.body).slice(0, 2_000)}`).toBeLessThan(300);
    return answer.body;
  };
  const start = async (workflowName: string): Promise<string> => {
    const body = `{"workflowName":${JSON.stringify(workflowName)},"input":${content.input}}`;
    const headers = { 'idempotency-key': workflowName, 'user-agent': 'a browser' };
    return runShape.parse(await call('/v1/runs', body, headers)).runId;
  };
  const script = (id: string, code: string) => ({
    id,
    type: 'javascript',
    label: text,
    config: { code: `console.log(${JSON.stringify(text)});\n${code}`, outputVariable: 'made', retry: { attempts: 1 } },
  });

  const good = { name, nodes: [...ends, script('work', content.code)], edges: [edge('start', 'work'), edge('work', 'end')] };
  await call('/v1/workflows', good);
  await call(`/v1/workflows/${name}/versions`, { nodes: good.nodes, edges: good.edges, note: text });
  const completed = await start(name);
  const definition = { name, nodes: [...good.nodes, script('more', 'return 1')], edges: good.edges, options: {} };
  await call(`/v1/workflows/${name}/draft`, { definition, revision: 0, basedOn: 2 });

  const loop = {
    id: 'lines',
    type: 'loop',
    label: text,
    config: { sourceVariable: '{{ctx.input.lines}}', itemVariable: 'line', onItemFailure: 'continue' },
  };
  const bad = `bad-${name}`.slice(0, 128);
  await call('/v1/workflows', {
    name: bad,
    nodes: [...ends, loop, script('item', 'return ctx.line'), script('work', `throw new Error(${JSON.stringify(text)})`)],
    edges: [edge('start', 'lines'), edge('lines', 'item', 'loop'), edge('lines', 'work', 'done'), edge('work', 'end')],
  });
  const failed = await start(bad);
  await call('/v1/workflows', {
    name: 'waits',
    nodes: [...ends, { id: 'ask', type: 'signal', label: text, config: { name: text, correlation: text } }],
    edges: [edge('start', 'ask'), edge('ask', 'end')],
  });
  const waiting = await start('waits');

  await call('/v1/schedules', {
    scheduleId: name.slice(0, 64),
    workflowName: name,
    cron: '0 3 * * 1-5',
    timeZone: 'America/Argentina/Buenos_Aires',
    input: JSON.parse(content.input),
  });
  const field = { type: 'string', required: true, description: text };
  await call('/v1/lenses', {
    name,
    description: text,
    template: `${text} [[given]] [[${name.slice(0, 60)}]]`,
    input: { fields: { given: field, [name.slice(0, 60)]: field } },
  });
  const parameter = `p_${name.slice(0, 60).replaceAll(/\W/g, '_')}`;
  await call('/v1/queries', {
    name,
    kind: 'postgres',
    description: text,
    connection: 'orders-db',
    statement: `select 1 /* ${text} */ from t where a = :${parameter}`,
    parameters: [{ name: parameter, type: 'string', required: true, default: text }],
  });
  await call('/v1/embeds', { workflowName: name, origins: [`https://${name.slice(0, 60).toLowerCase()}.example.com`] });
  await call('/v1/keys', { scopes: ['runs:read', 'runs:write', 'workflows:read', 'workflows:write', 'deploy:read'] });

  const { deploymentId } = z
    .object({ deploymentId: z.string() })
    .parse(await call('/v1/world/apps', { baseUrl: 'https://app.example.com' }));
  const devKit = `wrun_${ulid()}`;
  const eventData = { deploymentId, workflowName: `workflow//./a//${content.devKitName}`, input: { $bytes: 'ZGV2bFsxXQ==' } };
  await call('/v1/world/events/create', { runId: devKit, data: { eventType: 'run_created', specVersion: 5, eventData } });
  await call(`/v1/runs/${devKit}/cancel`, { reason: text });
  const { manifest, archive } = await packedDeployment(name.replaceAll('.', '-'), {
    workflows: [`code-${name}`.slice(0, 128)],
    files: { [bundlePaths.workflow]: 'export const POST = () => Response.json({});\n' },
  });
  const form = new FormData();
  form.append('manifest', JSON.stringify(manifest));
  form.append('artifact', new Blob([Buffer.from(archive)], { type: 'application/gzip' }), 'artifact.tgz');
  const headers = { authorization: `Bearer ${local.apiKey}` };
  const uploaded = await fetch(`${local.url}/v1/deployments`, { method: 'POST', headers, body: form });
  expect(uploaded.status, await uploaded.text()).toBe(201);

  const large = content.large === undefined ? undefined : await populateLarge(call, content, content.large);
  for (const [runId, status] of [
    [completed, 'completed'],
    [failed, 'failed'],
    ...(large === undefined ? [] : [[large, 'completed'] as const]),
  ] as const)
    await vi.waitFor(async () => expect((await local.call('GET', `/v1/runs/${runId}`)).body).toMatchObject({ status }), {
      timeout: 60_000,
      interval: 250,
    });
  return { content, completed, failed, waiting, devKit, ...(large === undefined ? {} : { large }) };
}

/** The pages of keys and of the trail need admin. */
export async function getAdmin({ local, watched: { page } }: SignedIn): Promise<void> {
  await page.goto(`${local.url}/console/keys`);
  await page.getByLabel('An API key with admin').fill(local.apiKey);
  await page.getByRole('button', { name: 'Get admin for 15 minutes' }).click();
  await page.getByRole('table').waitFor();
}

/** Opens an address and waits for its content. */
export async function openAddress({ local, watched: { page } }: SignedIn, path: string): Promise<void> {
  await page.goto(`${local.url}/console/${path}`);
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  // A part that has loaded can begin another one in the next frames.
  await page.evaluate(`new Promise((resolve) => {
    let quiet = 0;
    const look = () => {
      quiet = document.querySelector('[aria-busy]') === null ? quiet + 1 : 0;
      if (quiet > 10) resolve();
      else requestAnimationFrame(look);
    };
    look();
  })`);
}
