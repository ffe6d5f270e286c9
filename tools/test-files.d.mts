export const faultFiles: readonly string[];
