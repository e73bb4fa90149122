/**
 * Runs the measured app on one of the SDK's own Worlds, in the way of its development servers: this process serves the routes of the
 * build, and the World sends its messages there. It is copied into the folder of the app. The World is that of Postgres if the variable
 * of its database is set, and otherwise `@workflow/world-local`, the World of files.
 * Arguments: how many steps, how many runs. It prints the milliseconds of each run, in JSON.
 */
import { copyFileSync, existsSync, realpathSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';

const [steps, runs] = process.argv.slice(2).map(Number);
const routes = join(process.cwd(), '.well-known', 'workflow', 'v1');

/**
 * The 4.x line builds CommonJS, which Node loads as such by its ending.
 * @param {string} name
 */
async function handlerOf(name) {
  const [esm, commonJs, copy] = ['mjs', 'js', 'cjs'].map((extension) => join(routes, `${name}.${extension}`));
  if (existsSync(esm)) return (await import(pathToFileURL(esm).href)).POST;
  if (!existsSync(commonJs)) return undefined;
  if (!existsSync(copy)) copyFileSync(commonJs, copy);
  return (await import(pathToFileURL(copy).href)).default.POST;
}

const server = createServer((request, response) => {
  void (async () => {
    const name = (request.url ?? '').split('/').at(-1)?.split('?')[0] ?? '';
    const handler = await handlerOf(name);
    if (handler === undefined) return response.writeHead(404).end();
    const body = await buffer(request);
    const answer = await handler(
      new Request(`http://localhost${request.url}`, { method: 'POST', headers: request.headers, body }),
    );
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.end(Buffer.from(await answer.arrayBuffer()));
  })();
});
await new Promise((resolve) => server.listen(0, 'localhost', () => resolve(undefined)));
process.env['PORT'] = String(server.address().port);

/** The World of files is a dependency of the SDK, and that of Postgres one of the app. */
const isPostgres = process.env['WORKFLOW_POSTGRES_URL'] !== undefined;
const [owner, worldName] = isPostgres ? ['', 'postgres'] : ['node_modules/workflow', 'local'];
const ownerFile = realpathSync(join(process.cwd(), owner, 'package.json'));
const worldModule = await import(pathToFileURL(createRequire(ownerFile).resolve(`@workflow/world-${worldName}`)).href);
const { setWorld } = await import('workflow/runtime');
const world = (worldModule.createLocalWorld ?? worldModule.createWorld)();
setWorld(world);
if (isPostgres) await world.start();
const { start } = await import('workflow/api');
/** @param {number} count */
const runOf = async (count) => {
  const startedAt = Date.now();
  const run = await start({ workflowId: 'workflow//./workflows/measured//sequence' }, [count]);
  // The SDK asks for the value once a second, so its time is that of the run.
  await run.returnValue;
  return (await run.completedAt).getTime() - startedAt;
};
await runOf(steps);
const times = [];
for (let run = 0; run < runs; run += 1) times.push(await runOf(steps));
console.log(JSON.stringify(times));
process.exit(0);
