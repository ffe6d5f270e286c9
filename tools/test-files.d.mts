export const faultFiles: readonly string[];
export const fullCountFiles: readonly string[];
