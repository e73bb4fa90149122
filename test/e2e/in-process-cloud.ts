/** The embedded cloud in this process, with its own folder and port, for tests that read more than the API. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { environmentNames } from '../../lib/contract/environment.ts';
import { type Cloud, type CloudSettings, startCloud } from '../../lib/local/cloud.ts';
import { demoSecret, localKey } from '../../lib/local/local-credentials.ts';
import { awsEnvironment } from '../../lib/local/aws-environment.ts';
import { checkoutApp } from '../../lib/local/synth/cdk-app.ts';
import { synthesize } from '../../lib/local/synth/synthesize.ts';
import { loadAssembly } from '../../lib/local/template/assembly.ts';
import { type Answer, preparedFolder, root } from './local-start.ts';

export interface InProcessCloud {
  readonly cloud: Cloud;
  readonly url: string;
  readonly apiKey: string;
  /** the signing secret of the webhook provider `demo` */
  readonly webhookSecret: string;
  call(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** a key as `npm run create-key` prints it, for this cloud's control table */
  createKey(...options: readonly string[]): Promise<string>;
  stop(): Promise<void>;
}

/** Uses the bundles of this test run's synthesis. */
export const asBundled = { 'stepwell:buildsFunctions': false };

/**
 * @param settings of the context, such as `stepwell:requireHttps`
 * @param changed gets the folder of the cloud assembly, and returns the one to run instead
 * @param threads maximum per function
 * @param account the account's quota of concurrent executions
 */
export async function startInProcessCloud(
  settings?: Readonly<Record<string, unknown>>,
  changed: (assembly: string) => Promise<string> = async (assembly) => assembly,
  threads = 8,
  account: Pick<CloudSettings, 'accountConcurrency' | 'throttledVisibilityMs' | 'deliversEventsTwice'> = {},
): Promise<InProcessCloud> {
  const directory = preparedFolder();
  const complaints: string[] = [];
  const cloud = await startCloud({
    directory,
    port: 0,
    threads,
    ...account,
    assembly: synthesize(checkoutApp(root), directory, settings === undefined ? {} : { ...settings, ...asBundled }).then(
      async (synthesis) => loadAssembly(await changed(synthesis.directory)),
    ),
    warn: (line) => void complaints.push(line),
    onEmulatorExit: (why) => void complaints.push(why),
  });
  const { url } = cloud;
  if (url === undefined) throw new Error('the template has no API');
  const apiKey = localKey(cloud);
  return {
    cloud,
    url,
    apiKey,
    webhookSecret: demoSecret(cloud.secrets),
    async call(method, path, body, headers = {}) {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
    },
    async createKey(...options) {
      const variables = JSON.stringify(
        cloud.template.of('AWS::Lambda::Function').map(({ properties }) => properties['Environment']),
      );
      const table = new RegExp(`"${environmentNames.controlTable}":"([^"]+)"`).exec(variables)?.[1] ?? '';
      const { url: endpoint, accessKeyId, secretAccessKey } = cloud.tables;
      // Asynchronous, because the gateway runs in this process.
      const { stdout } = await promisify(execFile)(process.execPath, ['scripts/create-key.ts', '--table', table, ...options], {
        cwd: root,
        env: {
          ...process.env,
          AWS_ENDPOINT_URL_DYNAMODB: endpoint,
          AWS_REGION: awsEnvironment.region,
          AWS_ACCESS_KEY_ID: accessKeyId,
          AWS_SECRET_ACCESS_KEY: secretAccessKey,
        },
      });
      return stdout.trim();
    },
    async stop() {
      await cloud.stop();
      if (complaints.length > 0) throw new Error(complaints.join('\n'));
    },
  };
}
