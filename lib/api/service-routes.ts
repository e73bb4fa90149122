/** The routes that describe the service itself, as entries of the route table. */
import { type Route, ok } from './route.ts';
import { catalogueResponse, installationResponse } from './schemas/installation.ts';
import { healthResponse, openApiResponse } from './schemas/service.ts';

export const healthRoutes = [
  {
    method: 'GET',
    path: '/v1/health',
    operationId: 'getHealth',
    summary: 'Reports that the service is available',
    allowsPlainHttp: true,
    servedBy: 'api',
    scope: null,
    idempotencyKey: 'none',
    responses: { 200: ok('The service is available', healthResponse) },
    errors: [],
  },
] as const satisfies readonly Route[];

export const openApiRoutes = [
  {
    method: 'GET',
    path: '/v1/openapi.json',
    operationId: 'getOpenApi',
    summary: 'This document',
    servedBy: 'library',
    scope: null,
    idempotencyKey: 'none',
    responses: { 200: ok('OpenAPI 3.1', openApiResponse) },
    errors: [],
  },
] as const satisfies readonly Route[];

export const installationRoutes = [
  {
    method: 'GET',
    path: '/v1/installation',
    operationId: 'getInstallation',
    summary: 'Returns the version of the installation and its settings, without secrets',
    servedBy: 'library',
    scope: 'deploy:read',
    idempotencyKey: 'none',
    responses: { 200: ok('The installation', installationResponse) },
    errors: [],
  },
  {
    method: 'GET',
    path: '/v1/catalogue',
    operationId: 'getCatalogue',
    summary: 'Returns the names of the secrets, models and databases that workflows can use',
    servedBy: 'library',
    // A caller that can read definitions sees such names in them. The settings of the installation say more, and need deploy:read.
    scope: 'workflows:read',
    idempotencyKey: 'none',
    responses: { 200: ok('The names', catalogueResponse) },
    errors: [],
  },
] as const satisfies readonly Route[];
