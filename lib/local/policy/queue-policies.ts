/** The policies of queues: what a service of AWS may do with them on behalf of one of its resources. */
import * as z from 'zod';
import { awsEnvironment } from '../aws-environment.ts';
import type { Template } from '../template/template.ts';
import { TemplateError } from '../template/template-error.ts';
import { evaluate, parsePolicy, type Statement } from './evaluate.ts';

const oneOrMore = z.union([z.string().transform((one) => [one]), z.array(z.string())]);
const principalShape = z.union([z.literal('*'), z.record(z.string(), oneOrMore)]);
const statementShape = z.looseObject({ Principal: principalShape });
const policyShape = z.looseObject({
  Queues: z.array(z.string()),
  PolicyDocument: z.looseObject({
    Statement: z.union([statementShape.transform((one) => [one]), z.array(statementShape)]),
  }),
});

interface ServicePermission {
  /** `events.amazonaws.com` */
  readonly service: string;
  /** `sqs:SendMessage` */
  readonly action: string;
  /** the ARN of the resource for which the service acts: the condition key `aws:SourceArn` */
  readonly sourceArn: string;
}

export type QueuePolicies = (queue: { readonly url: string; readonly arn: string }, permission: ServicePermission) => boolean;

/** Services and `*`; the principals `AWS` and `Federated` never are a service. */
const concernsService = (principal: z.output<typeof principalShape>, service: string): boolean =>
  principal === '*' ||
  [...(principal['Service'] ?? []), ...(principal['AWS'] ?? [])].some((one) => one === service || one === '*');

/** Whether the policies of a queue allow a service to act. Without a policy, no service may do anything. */
export function readQueuePolicies(template: Template): QueuePolicies {
  const policies = template.of('AWS::SQS::QueuePolicy').map(({ logicalId, properties }) => {
    const parsed = policyShape.safeParse(properties);
    if (!parsed.success) throw new TemplateError(`${logicalId}: the queue policy is not valid: ${z.prettifyError(parsed.error)}`);
    const { Queues, PolicyDocument } = parsed.data;
    const statements = PolicyDocument.Statement.map(({ Principal, ...statement }) => ({
      principal: Principal,
      compiled: parsePolicy({ Statement: statement }, logicalId),
    }));
    return { urls: new Set(Queues), statements };
  });
  return ({ url, arn }, { service, action, sourceArn }) => {
    const statements: readonly Statement[] = policies
      .filter(({ urls }) => urls.has(url))
      .flatMap((policy) => policy.statements)
      .flatMap(({ principal, compiled }) => (concernsService(principal, service) ? compiled : []));
    const context = {
      'aws:sourcearn': [sourceArn],
      'aws:sourceaccount': [awsEnvironment.account],
      'aws:securetransport': ['true'],
    };
    return evaluate(statements, { action, resource: arn, context }) === 'allowed';
  };
}
