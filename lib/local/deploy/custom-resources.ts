/**
 * Custom resources, as CloudFormation has them: their function is asked to create what is new and to change what has changed,
 * and answers at an address that is open for just that. What it was told last is kept, so an unchanged template asks nobody.
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import * as z from 'zod';
import { noOrigins } from '../http/caller-guard.ts';
import { guardedServer } from '../http/guarded-server.ts';
import { listen, readBody } from '../http/listen.ts';
import type { LambdaFunction } from '../lambda/function.ts';
import { limits } from '../lambda/limits.ts';
import { place } from '../place.ts';
import { readPrivate, writePrivate } from '../state-files.ts';
import { isCustom } from '../template/resource-types.ts';
import { TemplateFault } from '../template/template-fault.ts';
import type { Resource, Template } from '../template/template.ts';

const known = z.record(z.string(), z.object({ physicalId: z.string(), properties: z.record(z.string(), z.unknown()) }));
type Known = z.output<typeof known>;

const answerShape = z.looseObject({
  Status: z.enum(['SUCCESS', 'FAILED']),
  Reason: z.string().optional(),
  PhysicalResourceId: z.string(),
});
type Answer = z.output<typeof answerShape>;

/** CloudFormation waits for an hour; here somebody is waiting. */
const patienceMs = 60_000;
const answerLimitBytes = 4_096;

export interface CustomResourceParts {
  readonly template: Template;
  readonly directory: string;
  readonly find: (nameOrArn: string) => LambdaFunction | undefined;
}

export async function deployCustomResources({ template, directory, find }: CustomResourceParts): Promise<void> {
  const resources = template.all.filter(({ type }) => isCustom(type));
  const file = join(directory, 'state', 'custom-resources.json');
  const before = known.catch({}).parse(readPrivate(file));
  const after: Known = {};
  for (const resource of resources) {
    const id = `${resource.stack}/${resource.logicalId}`;
    const standing = before[id];
    const isSame = standing !== undefined && JSON.stringify(standing.properties) === JSON.stringify(resource.properties);
    after[id] = isSame ? standing : await ask(resource, standing, find);
    // After each: what a later one does must not undo that this one was done.
    if (!isSame) writePrivate(file, { ...before, ...after });
  }
}

async function ask(
  resource: Resource,
  standing: Known[string] | undefined,
  find: CustomResourceParts['find'],
): Promise<Known[string]> {
  const { stack, logicalId, type, properties } = resource;
  const token = properties['ServiceToken'];
  const target = typeof token === 'string' ? find(token) : undefined;
  if (target === undefined) throw new TemplateFault(`${logicalId}: no function has the ARN of its ServiceToken`);
  const mailbox = await openMailbox();
  try {
    const event = {
      RequestType: standing === undefined ? 'Create' : 'Update',
      ServiceToken: token,
      ResponseURL: mailbox.url,
      StackId: `arn:${place.partition}:cloudformation:${place.region}:${place.account}:stack/${stack}/local`,
      RequestId: randomUUID(),
      LogicalResourceId: logicalId,
      ResourceType: type,
      ResourceProperties: properties,
      ...(standing === undefined ? {} : { PhysicalResourceId: standing.physicalId, OldResourceProperties: standing.properties }),
    };
    const text = JSON.stringify(event);
    // CloudFormation invokes the function asynchronously.
    if (Buffer.byteLength(text) > limits.asyncPayloadBytes)
      throw new TemplateFault(`${logicalId}: its event has more than ${limits.asyncPayloadBytes} bytes`);
    const outcome = await target.invoke(text);
    if (outcome.kind !== 'returned')
      throw new TemplateFault(
        `${logicalId}: its function failed${outcome.kind === 'failed' ? `: ${outcome.error.errorMessage}` : ''}`,
      );
    const answer = await mailbox.answer;
    if (answer.Status === 'FAILED') throw new TemplateFault(`${logicalId}: ${answer.Reason ?? 'its function says no reason'}`);
    return { physicalId: answer.PhysicalResourceId, properties: { ...properties } };
  } finally {
    await mailbox.close();
  }
}

interface Mailbox {
  readonly url: string;
  readonly answer: Promise<Answer>;
  close(): Promise<void>;
}

/** An address that takes one answer, and no other than that at the path nobody else knows. */
async function openMailbox(): Promise<Mailbox> {
  const path = `/${randomUUID()}`;
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const late = setTimeout(() => reject(new TemplateFault('the function of a custom resource does not answer')), patienceMs);
  // Whoever waits hears of it; without anybody it is nothing.
  promise.catch(() => undefined);
  const server = guardedServer(
    (request, response) => {
      const take = async (): Promise<void> => {
        const body = await readBody(request, answerLimitBytes);
        const isMeant = request.method === 'PUT' && request.url === path && body !== 'too large';
        response.writeHead(isMeant ? 200 : 403).end();
        if (isMeant) resolve(answerShape.parse(JSON.parse(body.toString('utf8'))));
      };
      take().catch(reject);
    },
    { origins: () => noOrigins },
  );
  const listening = await listen(server, 0);
  return {
    url: `${listening.url}${path}`,
    answer: promise,
    close: async () => {
      clearTimeout(late);
      await listening.close(0);
    },
  };
}
