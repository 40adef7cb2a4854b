/* A disk that can lose its power, or be full; loaded before libc with LD_PRELOAD.

   In the folder $DISK it keeps what a power cut would leave, if everything is lost that was not synced:
   inode.N is the content of the file with inode N when it was synced last, and folder.N lists the names and inodes of
   the folder with inode N when it was synced last. If $DISK/full exists, no file can be written. */

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static ssize_t real_pwrite(int fd, const void *bytes, size_t size, off_t at) {
    static ssize_t (*call)(int, const void *, size_t, off_t);
    if (!call) call = dlsym(RTLD_NEXT, "pwrite64");
    return call(fd, bytes, size, at);
}

static void place(char *path, const char *kind, unsigned long inode, const char *end) {
    snprintf(path, 4096, "%s/%s.%lu%s", getenv("DISK"), kind, inode, end);
}

static void keep_file(int fd, unsigned long inode) {
    char from[64], part[4096], whole[4096], bytes[65536];
    snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
    place(part, "inode", inode, ".part");
    place(whole, "inode", inode, "");
    int in = open(from, O_RDONLY), out = open(part, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    off_t at = 0;
    for (ssize_t size; (size = read(in, bytes, sizeof bytes)) > 0; at += size)
        if (real_pwrite(out, bytes, size, at) != size) abort();
    close(in);
    close(out);
    rename(part, whole);
}

static void keep_folder(int fd, unsigned long inode) {
    char from[64], part[4096], whole[4096];
    snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
    place(part, "folder", inode, ".part");
    place(whole, "folder", inode, "");
    FILE *out = fopen(part, "w");
    DIR *folder = opendir(from);
    for (struct dirent *entry; (entry = readdir(folder));)
        if (entry->d_type == DT_REG) fprintf(out, "%lu %s\n", (unsigned long)entry->d_ino, entry->d_name);
    closedir(folder);
    fclose(out);
    rename(part, whole);
}

static int keep(int fd) {
    struct stat facts;
    if (fstat(fd, &facts)) return -1;
    if (S_ISREG(facts.st_mode)) keep_file(fd, facts.st_ino);
    if (S_ISDIR(facts.st_mode)) keep_folder(fd, facts.st_ino);
    return 0;
}

int fsync(int fd) { return keep(fd); }
int fdatasync(int fd) { return keep(fd); }

static int full(void) {
    char path[4096];
    snprintf(path, sizeof path, "%s/full", getenv("DISK"));
    if (access(path, F_OK)) return 0;
    errno = ENOSPC;
    return 1;
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off_t at) {
    return full() ? -1 : real_pwrite(fd, bytes, size, at);
}
ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) { return pwrite64(fd, bytes, size, at); }
