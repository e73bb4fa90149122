/** The environment variables of `stepwell worker start` where it works for the embedded cloud. */
import * as z from 'zod';
import type { Principals } from './aws/principals.ts';
import { awsEnvironment } from './aws-environment.ts';
import type { Template } from './template/template.ts';

const environment = z.looseObject({ Variables: z.record(z.string(), z.coerce.string()) });

/** The same values that the stack's outputs lead to: the function's variables, and a key with the permissions of the policy. */
export function workerVariables(
  template: Template,
  principals: Principals,
  endpoint: string,
): Readonly<Record<string, string>> | undefined {
  const [name, policyArn] = ['CodeFunctionName', 'WorkerPolicyArn'].map((output) => template.outputs.get(output));
  if (typeof name !== 'string' || typeof policyArn !== 'string') return undefined;
  const functionResource = template.of('AWS::Lambda::Function').find((fn) => fn.name === name);
  if (functionResource === undefined) return undefined;
  const worker = principals.createPrincipal('worker', policyArn);
  return {
    ...environment.parse(functionResource.properties['Environment']).Variables,
    AWS_ENDPOINT_URL: endpoint,
    AWS_REGION: awsEnvironment.region,
    AWS_ACCESS_KEY_ID: worker.accessKeyId,
    AWS_SECRET_ACCESS_KEY: worker.secretAccessKey,
  };
}
