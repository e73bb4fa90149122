/**
 * Lambda limits environment variables to 4 KB, measured as JSON: names, quotes and escapes count. Without this check only the
 * deployment would fail. (Lambda Developer Guide, "Lambda quotas"; github-aws-runners/terraform-aws-github-runner#3594)
 */
import { Stack } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as z from 'zod';
import { environmentNames } from '../contract/environment.ts';

export const maxEnvironmentBytes = 4_096;

/**
 * Assumed size of a token in bytes: names, URLs and ARNs are resolved during the deployment. The longest in use is a queue URL, with
 * at most 80 characters of name and 57 of host and account.
 */
export const tokenBytes = 140;

const environmentShape = z.object({ variables: z.record(z.string(), z.unknown()) });

/** Fails the synthesis if the variables exceed the limit. Variables that the owner adds count too. */
export function checkEnvironmentSize(fn: lambda.Function, name: string): void {
  fn.node.addValidation({
    validate: () => {
      const resource = fn.node.defaultChild;
      const resolvedEnvironment = resource instanceof lambda.CfnFunction ? Stack.of(fn).resolve(resource.environment) : undefined;
      if (resolvedEnvironment === undefined) return [];
      const sizes = Object.entries(environmentShape.parse(resolvedEnvironment).variables).map(([key, value]) => ({
        key,
        bytes: entryBytes(key, value),
      }));
      // Two braces, and a comma between entries.
      const bytes = sizes.reduce((sum, entry) => sum + entry.bytes, 1 + Math.max(1, sizes.length));
      const largest = sizes.toSorted((one, other) => other.bytes - one.bytes)[0];
      if (bytes <= maxEnvironmentBytes || largest === undefined) return [];
      return [
        `The environment variables of the function ${name} take ${bytes} bytes as JSON; Lambda's limit is ${maxEnvironmentBytes}. ` +
          `The largest is ${largest.key} with ${largest.bytes} bytes: shorten ${settingOf(largest.key)}`,
      ];
    },
  });
}

/** Size of `"NAME":"value"` in JSON. */
const entryBytes = (key: string, value: unknown): number => Buffer.byteLength(JSON.stringify(key)) + 1 + valueBytes(value);

/** A value that is not a string after resolving is an intrinsic. The literal parts of a `Fn::Join` count with their length. */
function valueBytes(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(JSON.stringify(value));
  const { data: join } = joinShape.safeParse(value);
  if (join === undefined) return tokenBytes + 2;
  return join['Fn::Join'][1].reduce<number>((sum, part) => sum + valueBytes(part) - 2, 2);
}

const joinShape = z.object({ 'Fn::Join': z.tuple([z.literal(''), z.array(z.unknown())]) });

const settingOf = (variable: string): string => {
  const name = Object.entries(environmentNames).find(([, variableName]) => variableName === variable)?.[0];
  return name === undefined ? 'it, or remove it from addEnvironment' : `the setting ${name}`;
};
