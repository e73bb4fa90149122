import { expect, test } from 'vitest';
import { readConnection } from '../../../lib/nodes/data-query/connection.ts';

const rds = { engine: 'postgres', host: 'db.internal', port: 5_433, dbname: 'orders', username: 'reader', password: 'pw' };

test('a secret in the format for RDS: TLS is on, and the certificate must match the host', () => {
  expect(readConnection(JSON.stringify(rds))).toEqual({
    host: 'db.internal',
    port: 5_433,
    database: 'orders',
    user: 'reader',
    password: 'pw',
    ssl: { rejectUnauthorized: true, servername: 'db.internal' },
  });
});

test('other names, a port as string or absent, a certificate authority, and no TLS', () => {
  const { dbname: _dbname, username: _username, port: _port, ...rest } = rds;
  const other = { ...rest, database: 'd', user: 'u' };
  expect(readConnection(JSON.stringify({ ...other, ca: 'PEM' }))).toMatchObject({
    port: 5_432,
    database: 'd',
    ssl: { ca: 'PEM' },
  });
  expect(readConnection(JSON.stringify({ ...other, port: '6000', tls: 'off' }))).toMatchObject({
    port: 6_000,
    user: 'u',
    ssl: false,
  });
});

test.each([
  ['nothing that is JSON', 'pw', 'the whole'],
  ['no host', JSON.stringify({ ...rds, host: undefined }), 'host'],
  ['no database', JSON.stringify({ ...rds, dbname: undefined }), 'dbname'],
  ['TLS of no kind', JSON.stringify({ ...rds, tls: 'perhaps-pw' }), 'tls'],
])('%s is not a connection, and only its fields are named', (_what, text, field) => {
  const read = readConnection(text);
  expect('error' in read && read.error).toContain(field);
  expect(JSON.stringify(read)).not.toMatch(/pw|perhaps/);
});
