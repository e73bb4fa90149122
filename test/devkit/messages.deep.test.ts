/**
 * What a developer reads when a run cannot be started: `start()` of the SDK throws an error with a stable code and the next step, through
 * `stepwell/world` and the API, at each supported version.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { cli } from '../e2e/code-projects.ts';
import { type InProcessCloud, startInProcessCloud } from '../e2e/in-process-cloud.ts';
import { type BuiltApp, sdkVersions } from './built-app.ts';
import { ordersApp } from './orders-app.ts';

const orders = 'workflow//./workflows/order//order';
const outcomeShape = z.union([
  z.strictObject({ runId: z.string() }),
  z.strictObject({ name: z.string(), code: z.string().optional(), status: z.int().optional(), message: z.string() }),
]);
const deployed = z.looseObject({ data: z.looseObject({ deploymentId: z.string() }) });

let served: InProcessCloud;
beforeAll(async () => {
  served = await startInProcessCloud();
});
afterAll(() => served.stop());

describe.each(sdkVersions)('the SDK %s', (sdkVersion) => {
  // Two apps of an environment cannot have the same workflows.
  const environment = `sdk-${sdkVersion.replaceAll('.', '-')}`;
  const createKey = (scope: string): Promise<string> =>
    served.createKey('--project', 'default', '--environment', environment, '--scopes', scope);
  let app: BuiltApp;
  let apiKey: string;
  beforeAll(async () => {
    [app, apiKey] = await Promise.all([ordersApp(sdkVersion), createKey('admin')]);
  });

  /** Starts a run as an app does. @returns how `start()` ended */
  async function start(variables: Readonly<Record<string, string>>, workflow = orders, ...deploymentId: readonly string[]) {
    const env = { STEPWELL_URL: served.url, STEPWELL_API_KEY: apiKey, ...variables };
    return outcomeShape.parse(JSON.parse(await app.run('node', ['start.mjs', workflow, ...deploymentId], env)));
  }
  const deploy = async (...options: readonly string[]): Promise<string> =>
    deployed.parse(JSON.parse(await cli({ ...served, apiKey }, app.folder, 'deploy', '--json', ...options))).data.deploymentId;
  const openRuns = async (): Promise<unknown> =>
    (await served.call('GET', '/v1/runs', undefined, { authorization: `Bearer ${apiKey}` })).body;

  test('reports a wrong key, and names the variable', async () => {
    expect(await start({ STEPWELL_API_KEY: 'sw_prod_wrong' })).toEqual({
      name: 'WorkflowWorldError',
      code: 'unauthorized',
      status: 401,
      message: expect.stringMatching(
        /unknown, expired or revoked\. Set STEPWELL_API_KEY to a valid key: npx stepwell keys create/,
      ),
    });
  });

  test('reports a key without the scope, and names the scope', async () => {
    expect(await start({ STEPWELL_API_KEY: await createKey('runs:read') })).toEqual({
      name: 'WorkflowWorldError',
      code: 'missing_scope',
      status: 403,
      message: expect.stringMatching(/\(required: world:proxy\)\. Set STEPWELL_API_KEY to a key with that scope/),
    });
  });

  test('reports that no deployment is active, and how one becomes active', async () => {
    const none = {
      name: 'WorkflowWorldError',
      code: 'no_active_deployment',
      status: 409,
      message: expect.stringMatching(/No active deployment\..* Deploy the app with stepwell deploy, or activate a deployment/),
    };
    expect(await start({})).toEqual(none);
    await deploy('--no-activate', '--deployment-id', 'dpl_inactive');
    expect(await start({})).toEqual(none);
    // The SDK asks for the active deployment also where another one is named.
    expect(await start({}, orders, 'dpl_inactive')).toEqual(none);
    expect(await openRuns()).toMatchObject({ data: [] });
  });

  test('reports an unknown deployment and an unknown workflow, with the workflows that the deployment has', async () => {
    const id = await deploy();
    expect(await start({}, orders, 'dpl_nowhere')).toEqual({
      name: 'WorkflowWorldError',
      code: 'world_deployment_not_found',
      status: 404,
      message: expect.stringMatching(/has the id dpl_nowhere\. Deploy the application, or register its address/),
    });
    const wrong = await start({}, 'workflow//./workflows/order//oder');
    expect(wrong).toEqual({
      name: 'WorkflowWorldError',
      code: 'workflow_not_found',
      status: 404,
      message: expect.stringContaining(
        `the deployment ${id} has no workflow workflow//./workflows/order//oder. It has the workflows`,
      ),
    });
    expect('message' in wrong && wrong.message).toMatch(
      /workflow\/\/\.\/workflows\/order\/\/order,.*Correct the name, or build the app and deploy it again\.$/,
    );
    expect(await openRuns()).toMatchObject({ data: [] });
  });

  test('reports a spec version that is not supported', async () => {
    await deploy();
    const tooNew = await start({ STEPWELL_SPEC_VERSION: '8' });
    // Version 5 compares the World's version with its own, and asks the service for nothing.
    if (sdkVersion.startsWith('5.')) {
      expect(tooNew).toMatchObject({ name: 'WorkflowRuntimeError', message: expect.stringMatching(/spec version/) });
      return;
    }
    expect(tooNew).toEqual({
      name: 'RunNotSupportedError',
      code: 'run_not_supported',
      status: 422,
      message: expect.stringMatching(/spec version 8, .* Update Stepwell, or start the run with an earlier version/),
    });
    // The deployed code has the version 3, and an app of a later version of the SDK starts a run on it.
    expect(await start({ STEPWELL_SPEC_VERSION: '5' })).toEqual({
      name: 'RunNotSupportedError',
      code: 'run_not_supported',
      status: 422,
      message: expect.stringMatching(
        /is built with Workflow DevKit 4\.8\.9, spec version 3\. Use one version of the package workflow/,
      ),
    });
  });
});
