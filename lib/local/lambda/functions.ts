/** Creates every function of the template, with its bundle, its variables and its own key. */
import { type WriteStream, createWriteStream, existsSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as z from 'zod';
import { defined } from '../../base/defined.ts';
import { environmentNames } from '../../contract/environment.ts';
import type { Principals } from '../aws/principals.ts';
import { awsEnvironment } from '../aws-environment.ts';
import type { CallDelay, Recorder } from '../recorder.ts';
import type { Assembly } from '../template/assembly.ts';
import type { Resource, Template } from '../template/template.ts';
import { TemplateError } from '../template/template-error.ts';
import { type AsyncInvokeConfig, defaultAsyncInvokeConfig, readAsyncInvokeConfigs } from './async-invoke.ts';
import { type Account, type LambdaFunction, createFunction, type FunctionSettings } from './function.ts';
import { lambdaLimits } from '../limits.ts';

const shape = z.looseObject({
  Code: z.looseObject({ S3Key: z.string() }),
  Handler: z.string(),
  Role: z.string(),
  Timeout: z.number().default(3),
  MemorySize: z.number().default(128),
  ReservedConcurrentExecutions: z.number().optional(),
  RecursiveLoop: z.enum(['Allow', 'Terminate']).default('Terminate'),
  Environment: z.looseObject({ Variables: z.record(z.string(), z.coerce.string()).default({}) }).default({ Variables: {} }),
  LoggingConfig: z.looseObject({ LogGroup: z.string().optional() }).optional(),
});

export interface FunctionParts {
  /** filled when the API listens */
  readonly late?: { readonly apiAddress?: string };
  readonly template: Template;
  readonly assembly: Pick<Assembly, 'assetPath'>;
  readonly principals: Principals;
  readonly recorder: Recorder;
  readonly logs: Logs;
  readonly endpoint: string;
  /** where Node stores its compile cache of the bundles */
  readonly cache: string;
  /** where the functions' temporary folders are */
  readonly ephemeral?: string;
  /** threads per function where the template reserves no concurrency */
  readonly threads: number;
  /** ARNs of functions that only stream: an open stream occupies a thread that mostly waits */
  readonly streaming?: ReadonlySet<string>;
  /** the account's quota of concurrent executions. Default: 1,000 */
  readonly accountConcurrency?: number;
  readonly callDelay?: CallDelay | undefined;
  /** opens a port to the gateway for a thread; undefined: requests of functions use HTTP */
  readonly openGatewayPort?: FunctionSettings['openGatewayPort'];
  readonly warn: (line: string) => void;
}

/** More streams than one developer opens; a thread takes 50 MB once it is used. */
const maxStreamThreads = 64;

/**
 * Lambda refuses a reservation that leaves too little for functions without one, and the deployment rolls back.
 * https://docs.aws.amazon.com/lambda/latest/dg/configuration-concurrency.html
 */
function validateReservations(template: Template, accountConcurrency: number): void {
  const minUnreserved = Math.min(lambdaLimits.minUnreservedConcurrency, accountConcurrency);
  let unreserved = accountConcurrency;
  for (const { logicalId, properties } of template.of('AWS::Lambda::Function')) {
    unreserved -= Number(properties['ReservedConcurrentExecutions'] ?? 0);
    if (unreserved >= minUnreserved) continue;
    throw new TemplateError(
      `${logicalId}: Specified ReservedConcurrentExecutions for function decreases account's UnreservedConcurrentExecution below its minimum value of [${minUnreserved}]. The account's quota here is ${accountConcurrency}; set STEPWELL_ACCOUNT_CONCURRENCY to change it`,
    );
  }
}

/** CreateFunction measures the variables as JSON: names, quotes and escapes count. */
function validateEnvironmentSize(variables: Readonly<Record<string, string>>, logicalId: string): void {
  const measured = JSON.stringify(variables);
  if (Buffer.byteLength(measured) <= lambdaLimits.environmentBytes) return;
  throw new TemplateError(
    `${logicalId}: Lambda was unable to configure your environment variables because the environment variables you have provided exceeded the 4KB limit. String measured: ${measured}`,
  );
}

/** The module file of a handler such as `index.handler`. ES modules come first, as in Lambda. */
function moduleOf(folder: string, file: string, logicalId: string): string {
  const path = ['.mjs', '.js', '.cjs'].map((ending) => join(folder, `${file}${ending}`)).find(existsSync);
  if (path === undefined) throw new TemplateError(`${logicalId}: no ${file}.mjs, .js or .cjs in its asset`);
  return pathToFileURL(path).href;
}

/** The function's name in messages: its logical id without the hash. */
const displayNameOf = ({ logicalId }: Resource): string => logicalId.replace(/[0-9A-F]{8}$/, '');

/** The part of the quota that is left to functions without a reservation. */
function accountOf(template: Template, accountConcurrency: number): Account {
  const reserved = template
    .of('AWS::Lambda::Function')
    .reduce((sum, { properties }) => sum + Number(properties['ReservedConcurrentExecutions'] ?? 0), 0);
  return { concurrency: Math.max(0, accountConcurrency - reserved), running: 0 };
}

function createFromResource(
  resource: Resource,
  asyncInvoke: AsyncInvokeConfig,
  parts: FunctionParts & { readonly account: Account },
): LambdaFunction {
  const { name, arn = '', logicalId } = resource;
  const parsed = shape.safeParse(resource.properties);
  if (!parsed.success) throw new TemplateError(`${logicalId}: the function is not valid: ${z.prettifyError(parsed.error)}`);
  const { Code, Handler, Role, Timeout, MemorySize, ReservedConcurrentExecutions, RecursiveLoop, Environment, LoggingConfig } =
    parsed.data;
  validateEnvironmentSize(Environment.Variables, logicalId);
  const folder = parts.assembly.assetPath(Code.S3Key.replace(/\.zip$/, ''));
  const [file, handler] = Handler.split('.');
  if (folder === undefined || file === undefined || handler === undefined) {
    throw new TemplateError(`${logicalId}: no asset for ${Code.S3Key}, or the handler '${Handler}' names no module`);
  }
  const principal = parts.principals.createPrincipal(name, Role, arn);
  const logGroup = LoggingConfig?.LogGroup ?? `/aws/lambda/${name}`;
  const displayName = displayNameOf(resource);
  return createFunction({
    name,
    arn,
    data: {
      module: moduleOf(folder, file, logicalId),
      handler,
      functionName: name,
      functionArn: arn,
      memoryMb: MemorySize,
      logGroup,
      cache: parts.cache,
    },
    environment: {
      ...runtimeVariables({ name, memoryMb: MemorySize, logGroup, handler: Handler, folder, parts }),
      AWS_ACCESS_KEY_ID: principal.accessKeyId,
      AWS_SECRET_ACCESS_KEY: principal.secretAccessKey,
      ...Environment.Variables,
      ...localConcurrency(Environment.Variables, parts.threads),
    },
    // The template's value names an address that only AWS has.
    lateVariables: () =>
      environmentNames.apiAddress in Environment.Variables && parts.late?.apiAddress !== undefined
        ? { [environmentNames.apiAddress]: parts.late.apiAddress }
        : {},
    timeoutMs: Timeout * 1_000,
    ...defined({ ephemeral: parts.ephemeral, openGatewayPort: parts.openGatewayPort }),
    concurrency: ReservedConcurrentExecutions ?? (parts.streaming?.has(arn) === true ? maxStreamThreads : parts.threads),
    isReserved: ReservedConcurrentExecutions !== undefined,
    account: parts.account,
    recursiveLoop: RecursiveLoop,
    callDelay: parts.callDelay,
    asyncInvoke,
    print: parts.logs.of(displayName),
    warn: (line) => parts.warn(line.replace(name, displayName)),
    ...recordedInvocations(parts.recorder, name, MemorySize),
  });
}

/** Records invocations and throttles, for the bill and for tests. */
const recordedInvocations = (
  recorder: Recorder,
  name: string,
  memoryMb: number,
): Pick<FunctionSettings, 'onThrottled' | 'onInvoked'> => {
  const common = { caller: name, service: 'lambda', response: Buffer.alloc(0) };
  return {
    onThrottled: (requestBytes) =>
      recorder.record({ ...common, operation: 'Throttle', input: {}, requestBytes, status: 429, tookMs: 0 }),
    onInvoked: ({ tookMs, requestBytes, failed }) =>
      recorder.record({
        ...common,
        operation: 'Invocation',
        input: { memoryMb },
        requestBytes,
        status: failed ? 500 : 200,
        tookMs,
      }),
  };
};

/** Concurrency slots of projects are shares of the worker count, and here a worker is a thread. */
const localConcurrency = (
  { [nodeConcurrency]: configured }: Readonly<Record<string, string>>,
  threads: number,
): Record<string, string> =>
  configured === undefined ? {} : { [nodeConcurrency]: String(Math.min(Number(configured), threads)) };
const { nodeConcurrency } = environmentNames;

interface RuntimeSettings {
  readonly name: string;
  readonly memoryMb: number;
  readonly logGroup: string;
  readonly handler: string;
  readonly folder: string;
  readonly parts: FunctionParts;
}

/** The variables of Lambda's runtime. Nothing of this machine's environment is inherited: no proxy, profile or home. */
const runtimeVariables = ({ name, memoryMb, logGroup, handler, folder, parts }: RuntimeSettings): Record<string, string> => ({
  AWS_ENDPOINT_URL: parts.endpoint,
  AWS_REGION: awsEnvironment.region,
  AWS_DEFAULT_REGION: awsEnvironment.region,
  AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
  AWS_LAMBDA_FUNCTION_NAME: name,
  AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
  AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(memoryMb),
  AWS_LAMBDA_LOG_GROUP_NAME: logGroup,
  AWS_LAMBDA_LOG_STREAM_NAME: 'local',
  AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
  // Lambda has neither file; the owner's files could make handlers call a real account.
  AWS_CONFIG_FILE: join(folder, 'no-config'),
  AWS_SHARED_CREDENTIALS_FILE: join(folder, 'no-credentials'),
  AWS_EC2_METADATA_DISABLED: 'true',
  LAMBDA_TASK_ROOT: folder,
  _HANDLER: handler,
  TZ: 'UTC',
  LANG: 'en_US.UTF-8',
});

/** Functions by name. */
export function createFunctions(parts: FunctionParts): ReadonlyMap<string, LambdaFunction> {
  const accountConcurrency = parts.accountConcurrency ?? lambdaLimits.accountConcurrency;
  validateReservations(parts.template, accountConcurrency);
  const account = accountOf(parts.template, accountConcurrency);
  const asyncInvokes = readAsyncInvokeConfigs(parts.template);
  return new Map(
    parts.template
      .of('AWS::Lambda::Function')
      .map((resource) => [
        resource.name,
        createFromResource(resource, asyncInvokes.get(resource.name) ?? defaultAsyncInvokeConfig, { ...parts, account }),
      ]),
  );
}

const rotateAtBytes = 10 * 1024 * 1024;

export interface Logs {
  /** The writer of a function's log. */
  of(functionName: string): (text: string) => void;
  close(): Promise<void>;
}

export function openLogs(directory: string): Logs {
  mkdirSync(directory, { recursive: true });
  const files: WriteStream[] = [];
  return {
    of(functionName) {
      const path = join(directory, `${functionName}.log`);
      if (existsSync(path) && statSync(path).size > rotateAtBytes) renameSync(path, `${path}.1`);
      const file = createWriteStream(path, { flags: 'a' });
      // A full disk loses log lines, and must not end the cloud.
      file.on('error', () => {});
      files.push(file);
      return (text) => void file.write(text);
    },
    async close() {
      await Promise.all(files.map((file) => new Promise<void>((resolve) => file.end(() => resolve()))));
    },
  };
}
