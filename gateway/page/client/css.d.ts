// Style sheets are the bundler's; a script gets nothing of them.
declare module "*.css";
