/** The addresses at which applications may receive messages: those that the http node may call, and over the internet with https only. */
import { type Address, type NetworkAccess, destinationOf, forbiddenAddress, publicInternet } from './destination.ts';

export type AppDestination =
  | { readonly addresses: readonly Address[] }
  /** `isUnknown`: the name may get an address later */
  | { readonly refused: string; readonly isUnknown: boolean };

export async function appDestinationOf({ hostname, origin, protocol }: URL, access: NetworkAccess): Promise<AppDestination> {
  const destination = await destinationOf(hostname, access);
  if ('refused' in destination) {
    const isUnknown = destination.refused === 'unknown';
    return { refused: isUnknown ? `the name ${hostname} has no address` : forbiddenAddress(hostname), isUnknown };
  }
  const isPublic = destination.addresses.some(({ address }) => publicInternet.isAllowed(address, hostname));
  if (protocol === 'http:' && isPublic)
    return { refused: `${origin} is on the internet, so its address must begin with https`, isUnknown: false };
  return destination;
}
