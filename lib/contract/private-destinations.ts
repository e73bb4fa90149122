/** The entry of the setting `privateDestinations` for the machine itself. Only the embedded cloud uses it. */
export const localhostDestination = 'localhost';
