/** Secrets Manager: the three operations that the product uses, for the template's secrets and the owner's. */
import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import { arns } from '../aws-environment.ts';
import { type SecretStore, secretNameIn } from '../secret-store.ts';
import {
  jsonBody,
  jsonErrorResponse,
  jsonResponse,
  targetOperation,
  unknownOperation,
  type Service,
  type ServiceError,
  type WireResponse,
} from './wire.ts';

const inputShape = z.looseObject({
  SecretId: z.string().min(1),
  SecretString: z.string().max(65_536).optional(),
  ClientRequestToken: z.string().min(32).max(64).optional(),
  VersionStage: z.string().optional(),
});

const operations = new Set(['GetSecretValue', 'PutSecretValue', 'DescribeSecret']);
const type = 'application/x-amz-json-1.1';
const current = 'AWSCURRENT';

const serviceError = (code: string, message: string): ServiceError => ({ code, message, status: 400 });
const unknownSecret = serviceError('ResourceNotFoundException', "Secrets Manager can't find the specified secret.");
const noValue = serviceError(
  'ResourceNotFoundException',
  `Secrets Manager can't find the specified secret value for staging label: ${current}`,
);

/** @param templateArns the ARNs of the template's secrets */
export function secretsManager(store: SecretStore, templateArns: ReadonlySet<string>): Service {
  const arnOf = (id: string): string => (id.startsWith('arn:') ? id : arns.secret(id));
  const toErrorResponse = (error: ServiceError): WireResponse => jsonErrorResponse('', error, type);

  function put(arn: string, text: string, version: string): WireResponse {
    const existing = store.read(arn);
    if (existing?.version === version && existing.text !== text)
      return toErrorResponse(serviceError('ResourceExistsException', 'The token was used with another value.'));
    if (existing?.version !== version) store.write(arn, { text, version, createdAt: Date.now() });
    return jsonResponse(200, { ARN: arn, Name: secretNameIn(arn), VersionId: version, VersionStages: [current] }, type);
  }

  return {
    name: 'secretsmanager',
    parse(request) {
      const name = targetOperation(request);
      if (!operations.has(name)) return unknownOperation(name);
      const input = inputShape.safeParse(jsonBody(request));
      if (!input.success) return serviceError('ValidationException', z.prettifyError(input.error));
      // The recorder must not store a secret's text.
      const { SecretString: _secret, ...recordedInput } = input.data;
      const requiredPermissions = [{ action: `secretsmanager:${name}`, resource: arnOf(input.data.SecretId) }];
      return { name, input: recordedInput, requiredPermissions };
    },
    async handle(request, { name }) {
      const {
        SecretId,
        SecretString,
        ClientRequestToken = randomUUID(),
        VersionStage = current,
      } = inputShape.parse(jsonBody(request));
      const arn = arnOf(SecretId);
      const existing = store.read(arn);
      if (existing === undefined && !templateArns.has(arn)) return toErrorResponse(unknownSecret);
      if (name === 'PutSecretValue') {
        if (SecretString === undefined)
          return toErrorResponse(serviceError('InvalidRequestException', 'You must provide SecretString.'));
        return put(arn, SecretString, ClientRequestToken);
      }
      const common = { ARN: arn, Name: secretNameIn(arn), CreatedDate: (existing?.createdAt ?? 0) / 1_000 };
      if (name === 'DescribeSecret') {
        const versions = existing === undefined ? {} : { VersionIdsToStages: { [existing.version]: [current] } };
        return jsonResponse(200, { ...common, ...versions }, type);
      }
      if (existing === undefined || VersionStage !== current) return toErrorResponse(noValue);
      const value = { VersionId: existing.version, VersionStages: [current], SecretString: existing.text };
      return jsonResponse(200, { ...common, ...value }, type);
    },
    toErrorResponse,
  };
}
