/**
 * Custom resources, as in CloudFormation: creates new resources and updates changed ones by invoking their function, and receives
 * the response at a one-time URL. The last request is stored, so an unchanged template invokes no function.
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import * as z from 'zod';
import { noOrigins } from '../http/caller-guard.ts';
import { guardedServer } from '../http/guarded-server.ts';
import { listen, readBody } from '../http/listen.ts';
import type { LambdaFunction } from '../lambda/function.ts';
import { lambdaLimits } from '../limits.ts';
import { awsEnvironment } from '../aws-environment.ts';
import { readPrivateJson, writePrivateJson } from '../instance-folder.ts';
import { bucketNotificationsType, isCustom } from '../template/resource-types.ts';
import { TemplateError } from '../template/template-error.ts';
import type { Resource, Template } from '../template/template.ts';

const storedShape = z.record(z.string(), z.object({ physicalId: z.string(), properties: z.record(z.string(), z.unknown()) }));
type DeployedResources = z.output<typeof storedShape>;

const responseShape = z.looseObject({
  Status: z.enum(['SUCCESS', 'FAILED']),
  Reason: z.string().optional(),
  PhysicalResourceId: z.string(),
});
type ResourceResponse = z.output<typeof responseShape>;

/** CloudFormation waits for an hour; at a terminal that is too long. */
const responseTimeoutMs = 60_000;
const maxResponseBytes = 4_096;

export interface CustomResourceParts {
  readonly template: Template;
  readonly directory: string;
  readonly find: (nameOrArn: string) => LambdaFunction | undefined;
}

export async function deployCustomResources({ template, directory, find }: CustomResourceParts): Promise<void> {
  const resources = template.all.filter(({ type }) => isCustom(type) && type !== bucketNotificationsType);
  const file = join(directory, 'state', 'custom-resources.json');
  const previous = storedShape.catch({}).parse(readPrivateJson(file));
  const next: DeployedResources = {};
  for (const resource of resources) {
    const id = `${resource.stack}/${resource.logicalId}`;
    const existing = previous[id];
    const isSame = existing !== undefined && JSON.stringify(existing.properties) === JSON.stringify(resource.properties);
    next[id] = isSame ? existing : await invokeProvider(resource, existing, find);
    // Stored after each resource, so that a later failure does not repeat the earlier ones.
    if (!isSame) writePrivateJson(file, { ...previous, ...next });
  }
}

async function invokeProvider(
  resource: Resource,
  existing: DeployedResources[string] | undefined,
  find: CustomResourceParts['find'],
): Promise<DeployedResources[string]> {
  const { stack, logicalId, type, properties } = resource;
  const token = properties['ServiceToken'];
  const target = typeof token === 'string' ? find(token) : undefined;
  if (target === undefined) throw new TemplateError(`${logicalId}: no function of the template has the ARN of its ServiceToken`);
  const endpoint = await openResponseEndpoint();
  try {
    const event = {
      RequestType: existing === undefined ? 'Create' : 'Update',
      ServiceToken: token,
      ResponseURL: endpoint.url,
      StackId: `arn:${awsEnvironment.partition}:cloudformation:${awsEnvironment.region}:${awsEnvironment.account}:stack/${stack}/local`,
      RequestId: randomUUID(),
      LogicalResourceId: logicalId,
      ResourceType: type,
      ResourceProperties: properties,
      ...(existing === undefined ? {} : { PhysicalResourceId: existing.physicalId, OldResourceProperties: existing.properties }),
    };
    const text = JSON.stringify(event);
    // CloudFormation invokes the function asynchronously.
    if (Buffer.byteLength(text) > lambdaLimits.asyncPayloadBytes)
      throw new TemplateError(`${logicalId}: its event has more than ${lambdaLimits.asyncPayloadBytes} bytes`);
    const outcome = await target.invoke(text);
    if (outcome.kind !== 'returned')
      throw new TemplateError(
        `${logicalId}: its function failed${outcome.kind === 'failed' ? `: ${outcome.error.errorMessage}` : ''}`,
      );
    const providerResponse = await endpoint.providerResponse;
    if (providerResponse.Status === 'FAILED')
      throw new TemplateError(`${logicalId}: ${providerResponse.Reason ?? 'its function reported FAILED without a reason'}`);
    return { physicalId: providerResponse.PhysicalResourceId, properties: { ...properties } };
  } finally {
    await endpoint.close();
  }
}

interface ResponseEndpoint {
  readonly url: string;
  readonly providerResponse: Promise<ResourceResponse>;
  close(): Promise<void>;
}

/** A URL that accepts one response, at a secret path. */
async function openResponseEndpoint(): Promise<ResponseEndpoint> {
  const path = `/${randomUUID()}`;
  const { promise, resolve, reject } = Promise.withResolvers<ResourceResponse>();
  const timeout = setTimeout(
    () => reject(new TemplateError(`the function of a custom resource did not respond: check its log in the state folder`)),
    responseTimeoutMs,
  );
  // The caller receives the rejection. Without a caller it must not end the process.
  promise.catch(() => undefined);
  const server = guardedServer(
    (request, response) => {
      const receiveResponse = async (): Promise<void> => {
        const body = await readBody(request, maxResponseBytes);
        const isExpected = request.method === 'PUT' && request.url === path && body !== 'too large';
        response.writeHead(isExpected ? 200 : 403).end();
        if (isExpected) resolve(responseShape.parse(JSON.parse(body.toString('utf8'))));
      };
      receiveResponse().catch(reject);
    },
    { origins: () => noOrigins },
  );
  const listening = await listen(server, 0);
  return {
    url: `${listening.url}${path}`,
    providerResponse: promise,
    close: async () => {
      clearTimeout(timeout);
      await listening.close(0);
    },
  };
}
